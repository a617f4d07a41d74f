-- A page of a team's log, newest first, below the number $2. What is null filters nothing: $3 the
-- actor, by name or by credential; $4 verb; $5 object; $6 and $7 the time, half open. $8 rows.
SELECT team, seq, at, kind, subject, credential, verb, object, before, after, reason, address,
       request_id, prev_hash, hash
  FROM audit
 WHERE team = $1 AND seq < $2
   AND ($3::text IS NULL OR subject = $3 OR credential = $3)
   AND ($4::text IS NULL OR verb = $4)
   AND ($5::text IS NULL OR object = $5)
   AND ($6::timestamptz IS NULL OR at >= $6)
   AND ($7::timestamptz IS NULL OR at < $7)
 ORDER BY seq DESC
 LIMIT $8

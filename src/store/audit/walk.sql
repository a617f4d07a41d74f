-- A team's log in its order, after the number $2.
SELECT team, seq, at, kind, subject, credential, verb, object, before, after, reason, address,
       request_id, prev_hash, hash
  FROM audit
 WHERE team = $1 AND seq > $2
 ORDER BY seq
 LIMIT $3

-- Notes how far a part has been looked through.
UPDATE history_parts
   SET look_at = $2, ended_at = $3, shard = $4, after_id = $5, settled = $6, kept = $7, last_end = $8,
       soonest = $9
 WHERE part = $1

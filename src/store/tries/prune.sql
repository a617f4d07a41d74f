-- Forgets tries of windows that are over, at most $2 at a time.
DELETE FROM tries
 WHERE scope = ANY(ARRAY(SELECT scope FROM tries WHERE window_at < $1 LIMIT $2))

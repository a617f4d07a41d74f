-- One part, for whoever looks after the history. One process does at a time: until its transaction
-- ends it holds the row of the net, and others come back with nothing. The part is locked as well, so
-- that it is read as the one before has left it.
SELECT p.part, p.first_id, p.end_id, p.ends_at, p.look_at, p.ended_at, p.shard, p.after_id, p.settled, p.kept,
       p.last_end, p.soonest
  FROM history_parts net
  JOIN history_parts p ON p.part = $1
 WHERE net.part = 'rest'
   FOR NO KEY UPDATE OF net, p SKIP LOCKED

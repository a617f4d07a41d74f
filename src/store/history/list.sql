-- The parts of the history, and when each is to be looked through; a dozen rows.
SELECT part, first_id, end_id, ends_at, look_at, ended_at, shard, after_id, settled, kept, last_end, soonest
  FROM history_parts
 ORDER BY look_at, part

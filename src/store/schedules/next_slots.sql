-- When each shard next has a slot to see to: one index probe per shard; shards with none are left out.
SELECT s.shard, head.next_slot_at
  FROM shards s
 CROSS JOIN LATERAL (
        SELECT c.next_slot_at
          FROM schedules c
         WHERE c.shard = s.shard AND c.state = 'ACTIVE'
         ORDER BY c.next_slot_at
         LIMIT 1) head

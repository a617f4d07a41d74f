-- What there is to sweep, shard by shard, in one statement of index probes; only shards with work.
-- Sub-selects with a LIMIT, since PostgreSQL may turn an EXISTS into one read of the whole index.
SELECT s.shard, w.overdue, w.unstarted, w.waiting, w.expired_keys
  FROM shards s
 CROSS JOIN LATERAL (
        SELECT (SELECT true FROM live l WHERE l.shard = s.shard AND l.state = 'RUNNING'
                                          AND l.lease_until <= $1 LIMIT 1) IS NOT NULL AS overdue,
               (SELECT true FROM live l WHERE l.shard = s.shard AND l.state IN ('PENDING', 'RETRY_WAIT')
                                          AND l.start_deadline <= $1 LIMIT 1) IS NOT NULL AS unstarted,
               (SELECT true FROM live l WHERE l.shard = s.shard AND l.state = 'WAITING'
                                          LIMIT 1) IS NOT NULL AS waiting,
               (SELECT true FROM idempotency i WHERE i.shard = s.shard
                                                 AND i.expires_at <= $1 LIMIT 1) IS NOT NULL AS expired_keys
        OFFSET 0) w
 WHERE w.overdue OR w.unstarted OR w.waiting OR w.expired_keys

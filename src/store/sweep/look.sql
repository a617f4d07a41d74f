-- What there is to sweep, shard by shard, in one statement of index probes; only shards with work.
SELECT s.shard, w.overdue, w.unstarted, w.expired_keys
  FROM shards s
 CROSS JOIN LATERAL (
        SELECT EXISTS (SELECT FROM live l WHERE l.shard = s.shard AND l.state = 'RUNNING'
                                            AND l.lease_until <= $1) AS overdue,
               EXISTS (SELECT FROM live l WHERE l.shard = s.shard
                                            AND l.state IN ('PENDING', 'RETRY_WAIT')
                                            AND l.start_deadline <= $1) AS unstarted,
               EXISTS (SELECT FROM idempotency i WHERE i.shard = s.shard
                                                   AND i.expires_at <= $1) AS expired_keys) w
 WHERE w.overdue OR w.unstarted OR w.expired_keys

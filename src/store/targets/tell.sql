-- What a puller ($1) holds back now, good until $2.
INSERT INTO throttled_targets (team, target, puller, state, since, error_class, error, http_status,
                               probe_at, in_flight, ceiling, expires_at)
SELECT u.team, u.target, $1, u.state, u.since, u.error_class, u.error, u.http_status,
       u.probe_at, u.in_flight, u.ceiling, $2
  FROM unnest($3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::text[], $8::text[],
              $9::int[], $10::timestamptz[], $11::int[], $12::int[])
           AS u(team, target, state, since, error_class, error, http_status, probe_at, in_flight,
                ceiling)
    ON CONFLICT (team, target, puller) DO UPDATE
   SET state = excluded.state, since = excluded.since, error_class = excluded.error_class,
       error = excluded.error, http_status = excluded.http_status, probe_at = excluded.probe_at,
       in_flight = excluded.in_flight, ceiling = excluded.ceiling, expires_at = excluded.expires_at

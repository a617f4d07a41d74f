-- What a process that serves the API asks for within every second, in one statement: the revocations
-- after a version, in their order, and the teams of teams/described.sql.
SELECT NULL AS jti, NULL::timestamptz AS expires_at, NULL::bigint AS version,
       team, suspended_at IS NOT NULL AS is_suspended, suspend_reason, settings
  FROM teams
 WHERE suspended_at IS NOT NULL OR settings::text <> '{}'
 UNION ALL
(SELECT jti, expires_at, version, team, NULL, NULL, NULL
   FROM revoked_tokens
  WHERE version > $1
  ORDER BY version
  LIMIT $2)

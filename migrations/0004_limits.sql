-- Limits: fair claiming, breakers of targets, quotas of teams.

-- The rounds of a claim: in each shard from team to team, and in each of these from priority to
-- priority. Read backwards, the earliest due of a pair comes first, so that one probe finds the next
-- pair and whether it has anything due.
CREATE INDEX live_rounds ON live (shard, team, priority, due_at DESC)
    WHERE state IN ('PENDING', 'RETRY_WAIT') AND NOT held;

-- As they were, but for a predicate that keeps each away from what the index of the rounds is for:
-- only `priority >= 0` implies the first, only a range of ids together with `team = …` the second.
DROP INDEX live_due;
CREATE INDEX live_due ON live (shard, priority, due_at)
    WHERE state IN ('PENDING', 'RETRY_WAIT') AND NOT held AND priority >= 0;
DROP INDEX live_team;
CREATE INDEX live_team ON live (team, state, job_id) WHERE team IS NOT NULL AND job_id IS NOT NULL;

-- Why a job that waits was given back without a call: `domain::breaker::Deferral`. Cleared by the next
-- claim.
ALTER TABLE live ADD COLUMN deferred text;
CREATE OR REPLACE VIEW standing AS
    SELECT shard, job_id, team, state, NULL::text AS reason, attempt, failures, fence, held,
           CASE WHEN state IN ('PENDING', 'RETRY_WAIT') THEN due_at END AS next_attempt_at,
           updated_at, NULL::timestamptz AS finished_at, claimed_at, accepted_at, deadline_at, progress,
           deferred
      FROM live
    UNION ALL
    SELECT shard, job_id, team, state, reason, attempt, failures, fence, false,
           NULL, finished_at, finished_at, NULL, NULL, NULL, NULL, NULL
      FROM done;

-- Whether a run is going on. Asked only when the target has seen every job, so that none waits. By
-- the index of the leases, whatever else is in the table.
SELECT EXISTS (SELECT FROM live WHERE lease_until IS NOT NULL)

-- For the rest of this transaction no lock is waited for longer than this: while a lock on a whole
-- table is waited for, everybody else who needs the table waits behind.
SELECT set_config('lock_timeout', $1, true)

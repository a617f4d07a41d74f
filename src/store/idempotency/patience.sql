-- For the rest of this transaction no lock is waited for longer than this: others' requests are in it.
SELECT set_config('lock_timeout', $1, true)

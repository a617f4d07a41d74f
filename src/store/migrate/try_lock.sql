-- One process migrates; the key is the word "axle" in ASCII.
SELECT pg_try_advisory_xact_lock(1635282021) AS locked

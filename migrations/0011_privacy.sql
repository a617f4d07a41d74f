-- The queues that a key is held to; null: all of its team's.
ALTER TABLE keys ADD COLUMN queues text[];

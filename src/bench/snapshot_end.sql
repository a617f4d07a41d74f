-- Lets the snapshot go.
ROLLBACK

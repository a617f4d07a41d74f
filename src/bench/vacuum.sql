-- Clears away what the inserts before have left to do for whoever reads first.
VACUUM (ANALYZE)

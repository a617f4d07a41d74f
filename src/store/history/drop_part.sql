-- Drops a part, unless an unfinished job points into it.
SELECT history_drop($1) AS dropped

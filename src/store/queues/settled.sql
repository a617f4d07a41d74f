-- Every job of a resumed queue has been given back.
UPDATE queues SET holds = false WHERE team = $1 AND name = $2 AND NOT paused

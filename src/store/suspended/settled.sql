-- Every job of a team that is suspended no more has been given back.
UPDATE teams SET holds = false WHERE team = $1 AND suspended_at IS NULL

-- How many jobs were made for this instant.
SELECT count(*) AS made FROM jobs WHERE fire_at = $1

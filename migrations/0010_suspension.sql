-- Due jobs of a suspended team are set aside; `holds` stays until they have been given back.
ALTER TABLE teams ADD COLUMN holds boolean NOT NULL DEFAULT false;
UPDATE teams SET holds = true WHERE suspended_at IS NOT NULL;

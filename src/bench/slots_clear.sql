-- Takes the schedules and their fires away. The jobs that they made are finished.
TRUNCATE schedules, fires

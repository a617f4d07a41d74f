-- Counts a try in the window that began at $2; an older window's count is over.
INSERT INTO tries (scope, window_at, count)
VALUES ($1, $2, 1)
    ON CONFLICT (scope)
    DO UPDATE SET count = CASE WHEN tries.window_at = excluded.window_at THEN tries.count + 1 ELSE 1 END,
                  window_at = excluded.window_at
RETURNING count

-- The narrow table of the single-row commits.
DROP TABLE IF EXISTS bench_limit;
CREATE TABLE bench_limit (
    id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    note text   NOT NULL
)

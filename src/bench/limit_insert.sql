-- One narrow row in a commit of its own: the least that a durable enqueue can be without joining
-- others.
INSERT INTO bench_limit (note) VALUES ('one narrow row')

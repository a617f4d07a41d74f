-- The one wall clock: the database's, plus the shift by which tests and `axle dev` travel.
SELECT clock_timestamp() AS at, clock_shift_us FROM installation

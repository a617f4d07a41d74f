-- The number of the next revocation. The row stays locked until the transaction ends, so that
-- numbers become visible in their order.
UPDATE installation SET revocations = revocations + 1 RETURNING revocations

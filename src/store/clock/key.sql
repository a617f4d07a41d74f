-- The installation's key for callback tokens.
SELECT callback_key FROM installation

-- Signing secrets of two kinds side by side: shared ones, and pairs of keys whose public half is shown.

ALTER TABLE signing_secrets
    ADD COLUMN kind       text NOT NULL DEFAULT 'hmac' CHECK (kind IN ('hmac', 'ed25519')),
    ADD COLUMN public_key text, -- whpk_…; what is sealed is the seed of the private key
    ADD CHECK ((kind = 'ed25519') = (public_key IS NOT NULL));
DROP INDEX signing_secrets_current;
CREATE UNIQUE INDEX signing_secrets_current ON signing_secrets (team, queue, kind)
    WHERE expires_at IS NULL;

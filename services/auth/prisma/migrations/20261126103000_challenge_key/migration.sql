-- The registration of the key that shall answer, as key had it when the challenge was issued: an answer that
-- comes at once asks key no second time. Null in rows of the version before.
ALTER TABLE "challenge" ADD COLUMN "key" JSONB;

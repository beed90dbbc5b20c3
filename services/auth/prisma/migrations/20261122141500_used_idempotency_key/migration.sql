-- The table of used Idempotency-Keys; "claim" is a word of tokens.
ALTER TABLE "idempotency_claim" RENAME TO "used_idempotency_key";
ALTER TABLE "used_idempotency_key" RENAME CONSTRAINT "idempotency_claim_pkey" TO "used_idempotency_key_pkey";
ALTER INDEX "idempotency_claim_created_at_idx" RENAME TO "used_idempotency_key_created_at_idx";

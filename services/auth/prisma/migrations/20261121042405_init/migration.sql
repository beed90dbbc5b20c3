-- CreateTable
CREATE TABLE "identity" (
    "issuer" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "account_id" UUID NOT NULL,
    "email" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "picture" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "identity_pkey" PRIMARY KEY ("issuer","subject")
);

-- CreateTable
CREATE TABLE "sign_up" (
    "account_id" UUID NOT NULL,
    "chain_name" TEXT NOT NULL,
    "app_id" TEXT NOT NULL,
    "app_name" TEXT NOT NULL,
    "user_key_type" TEXT NOT NULL,
    "user_key_algorithm" TEXT NOT NULL,
    "user_key" TEXT NOT NULL,
    "device_key_algorithm" TEXT NOT NULL,
    "device_key" TEXT NOT NULL,
    "device_attributes" JSONB NOT NULL,
    "device_id" UUID NOT NULL,
    "profile_image_url" TEXT NOT NULL,
    "deployed_at" TIMESTAMPTZ(3),
    "key_registered_at" TIMESTAMPTZ(3),
    "device_registered_at" TIMESTAMPTZ(3),
    "completed_at" TIMESTAMPTZ(3),
    "lease_until" TIMESTAMPTZ(3) NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "sign_up_pkey" PRIMARY KEY ("account_id","chain_name")
);

-- CreateTable
CREATE TABLE "idempotency_claim" (
    "id" TEXT NOT NULL,
    "fingerprint" TEXT NOT NULL,
    "account_id" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "idempotency_claim_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "exchanged_code" (
    "code_hash" TEXT NOT NULL,
    "binding" TEXT NOT NULL,
    "keys" TEXT[],
    "profile" JSONB NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "exchanged_code_pkey" PRIMARY KEY ("code_hash")
);

-- CreateTable
CREATE TABLE "challenge" (
    "data" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "account_id" UUID NOT NULL,
    "chain_name" TEXT NOT NULL,
    "app_id" TEXT NOT NULL,
    "app_name" TEXT NOT NULL,
    "signer_algorithm" TEXT NOT NULL,
    "signer" TEXT NOT NULL,
    "auth_time" TIMESTAMPTZ(3) NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "used_at" TIMESTAMPTZ(3),

    CONSTRAINT "challenge_pkey" PRIMARY KEY ("data")
);

-- CreateTable
CREATE TABLE "session" (
    "id" UUID NOT NULL,
    "account_id" UUID NOT NULL,
    "app_id" TEXT NOT NULL,
    "app_name" TEXT NOT NULL,
    "device_key_algorithm" TEXT NOT NULL,
    "device_key" TEXT NOT NULL,
    "account_key_algorithm" TEXT NOT NULL,
    "account_key" TEXT NOT NULL,
    "auth_time" TIMESTAMPTZ(3) NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "last_used_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "refresh_id" UUID NOT NULL,
    "refresh_expires_at" TIMESTAMPTZ(3) NOT NULL,
    "previous_refresh_id" UUID,
    "rotated_at" TIMESTAMPTZ(3),
    "proof_required" BOOLEAN NOT NULL DEFAULT false,
    "ended_at" TIMESTAMPTZ(3),
    "ended_cause" TEXT NOT NULL DEFAULT '',

    CONSTRAINT "session_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "token_key" (
    "kid" TEXT NOT NULL,
    "public_jwk" JSONB NOT NULL,
    "encrypted_private" BYTEA NOT NULL,
    "signs_from" TIMESTAMPTZ(3) NOT NULL,
    "signs_until" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "token_key_pkey" PRIMARY KEY ("kid")
);

-- CreateTable
CREATE TABLE "token_state_entry" (
    "kind" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "active" BOOLEAN NOT NULL,
    "until" TIMESTAMPTZ(3),
    "txid" BIGINT NOT NULL,

    CONSTRAINT "token_state_entry_pkey" PRIMARY KEY ("kind","subject")
);

-- CreateTable
CREATE TABLE "rate_limit" (
    "key" TEXT NOT NULL,
    "points" INTEGER NOT NULL DEFAULT 0,
    "expire" BIGINT,

    CONSTRAINT "rate_limit_pkey" PRIMARY KEY ("key")
);

-- CreateTable
CREATE TABLE "outbox" (
    "id" UUID NOT NULL,
    "subject" TEXT NOT NULL,
    "payload" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "published_at" TIMESTAMPTZ(3),

    CONSTRAINT "outbox_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "identity_account_id_key" ON "identity"("account_id");

-- CreateIndex
CREATE INDEX "sign_up_completed_at_lease_until_idx" ON "sign_up"("completed_at", "lease_until");

-- CreateIndex
CREATE INDEX "sign_up_user_key_idx" ON "sign_up"("user_key");

-- CreateIndex
CREATE INDEX "sign_up_device_key_idx" ON "sign_up"("device_key");

-- CreateIndex
CREATE INDEX "idempotency_claim_created_at_idx" ON "idempotency_claim"("created_at");

-- CreateIndex
CREATE INDEX "exchanged_code_expires_at_idx" ON "exchanged_code"("expires_at");

-- CreateIndex
CREATE INDEX "challenge_expires_at_idx" ON "challenge"("expires_at");

-- CreateIndex
CREATE INDEX "session_account_id_ended_at_idx" ON "session"("account_id", "ended_at");

-- CreateIndex
CREATE INDEX "token_key_signs_until_idx" ON "token_key"("signs_until");

-- CreateIndex
CREATE INDEX "token_state_entry_txid_idx" ON "token_state_entry"("txid");

-- CreateIndex
CREATE INDEX "token_state_entry_until_idx" ON "token_state_entry"("until");

CREATE INDEX "outbox_waiting" ON "outbox" ("created_at") WHERE "published_at" IS NULL;

CREATE FUNCTION "notify_outbox"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- Heard when the transaction commits, once per transaction.
  PERFORM pg_notify('outbox', '');
  RETURN NULL;
END
$$;

CREATE TRIGGER "outbox_notify" AFTER INSERT ON "outbox" FOR EACH STATEMENT EXECUTE FUNCTION "notify_outbox"();

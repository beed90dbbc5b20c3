-- CreateTable
CREATE TABLE "account" (
    "id" UUID NOT NULL,
    "profile_image_url" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "account_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "address" (
    "account_id" UUID NOT NULL,
    "chain_name" TEXT NOT NULL,
    "chain_type" TEXT NOT NULL,
    "address" TEXT NOT NULL,
    "chain_id" INTEGER NOT NULL,

    CONSTRAINT "address_pkey" PRIMARY KEY ("account_id","chain_name","chain_type")
);

-- CreateTable
CREATE TABLE "deployment" (
    "account_id" UUID NOT NULL,
    "chain_name" TEXT NOT NULL,
    "user_key_algorithm" TEXT NOT NULL,
    "user_key" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "batch_limit" INTEGER NOT NULL,
    "creation_id" UUID,
    "last_error" TEXT NOT NULL DEFAULT '',
    "queued_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "deployment_pkey" PRIMARY KEY ("account_id","chain_name")
);

-- CreateTable
CREATE TABLE "creation" (
    "id" UUID NOT NULL,
    "chain_name" TEXT NOT NULL,
    "key_index" INTEGER NOT NULL,
    "sequence_number" BIGINT,
    "account_ids" UUID[],
    "server_keys" TEXT[],
    "transaction" JSONB,
    "transaction_id" TEXT NOT NULL DEFAULT '',
    "reference_height" BIGINT,
    "state" TEXT NOT NULL,
    "lease_owner" UUID NOT NULL,
    "lease_until" TIMESTAMPTZ(3) NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "creation_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "proposal_key" (
    "chain_name" TEXT NOT NULL,
    "key_index" INTEGER NOT NULL,
    "creation_id" UUID,

    CONSTRAINT "proposal_key_pkey" PRIMARY KEY ("chain_name","key_index")
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
CREATE UNIQUE INDEX "address_chain_name_address_key" ON "address"("chain_name", "address");

-- CreateIndex
CREATE INDEX "deployment_state_chain_name_queued_at_idx" ON "deployment"("state", "chain_name", "queued_at");

-- CreateIndex
CREATE INDEX "creation_state_lease_until_idx" ON "creation"("state", "lease_until");

-- CreateIndex
CREATE UNIQUE INDEX "proposal_key_creation_id_key" ON "proposal_key"("creation_id");

-- AddForeignKey
ALTER TABLE "address" ADD CONSTRAINT "address_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "account"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "deployment" ADD CONSTRAINT "deployment_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "account"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "deployment" ADD CONSTRAINT "deployment_creation_id_fkey" FOREIGN KEY ("creation_id") REFERENCES "creation"("id") ON DELETE SET NULL ON UPDATE CASCADE;

CREATE INDEX "outbox_waiting" ON "outbox" ("created_at") WHERE "published_at" IS NULL;

CREATE FUNCTION "notify_outbox"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- Heard when the transaction commits, once per transaction.
  PERFORM pg_notify('outbox', '');
  RETURN NULL;
END
$$;

CREATE TRIGGER "outbox_notify" AFTER INSERT ON "outbox" FOR EACH STATEMENT EXECUTE FUNCTION "notify_outbox"();

-- CreateTable
CREATE TABLE "binding" (
    "account_id" UUID NOT NULL,
    "chain_name" TEXT NOT NULL,
    "address" TEXT NOT NULL,
    "server_key_index" INTEGER NOT NULL,
    "server_key_version" INTEGER NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "binding_pkey" PRIMARY KEY ("account_id","chain_name")
);

-- CreateTable
CREATE TABLE "audit_chain" (
    "id" UUID NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "head_sequence" BIGINT NOT NULL,
    "head_hash" TEXT NOT NULL,

    CONSTRAINT "audit_chain_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "audit_record" (
    "chain_id" UUID NOT NULL,
    "sequence" BIGINT NOT NULL,
    "time" TIMESTAMPTZ(3) NOT NULL,
    "caller" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "session_id" TEXT NOT NULL,
    "operation" TEXT NOT NULL,
    "chain_name" TEXT NOT NULL,
    "message_hash" TEXT NOT NULL,
    "script_hash" TEXT NOT NULL,
    "verdict" TEXT NOT NULL,
    "policy_version" TEXT NOT NULL,
    "key_version" INTEGER NOT NULL,
    "previous_hash" TEXT NOT NULL,
    "hash" TEXT NOT NULL,

    CONSTRAINT "audit_record_pkey" PRIMARY KEY ("chain_id","sequence")
);

-- CreateTable
CREATE TABLE "signature_count" (
    "account_id" UUID NOT NULL,
    "minute" TIMESTAMPTZ(3) NOT NULL,
    "count" INTEGER NOT NULL,

    CONSTRAINT "signature_count_pkey" PRIMARY KEY ("account_id","minute")
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
CREATE UNIQUE INDEX "binding_chain_name_address_key" ON "binding"("chain_name", "address");

-- CreateIndex
CREATE INDEX "audit_record_account_id_time_idx" ON "audit_record"("account_id", "time");

-- CreateIndex
CREATE INDEX "audit_record_message_hash_idx" ON "audit_record"("message_hash");

-- CreateIndex
CREATE INDEX "signature_count_minute_idx" ON "signature_count"("minute");

CREATE INDEX "outbox_waiting" ON "outbox" ("created_at") WHERE "published_at" IS NULL;

CREATE FUNCTION "notify_outbox"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- Heard when the transaction commits, once per transaction.
  PERFORM pg_notify('outbox', '');
  RETURN NULL;
END
$$;

CREATE TRIGGER "outbox_notify" AFTER INSERT ON "outbox" FOR EACH STATEMENT EXECUTE FUNCTION "notify_outbox"();

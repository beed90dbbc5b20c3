-- CreateTable
CREATE TABLE "registration" (
    "id" UUID NOT NULL,
    "account_id" UUID NOT NULL,
    "chain_name" TEXT NOT NULL,
    "app_id" TEXT NOT NULL,
    "app_name" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "account_algorithm" TEXT NOT NULL,
    "account_key" TEXT NOT NULL,
    "device_algorithm" TEXT NOT NULL,
    "device_key" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "key_index" INTEGER NOT NULL,
    "origin" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "last_used_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),

    CONSTRAINT "registration_pkey" PRIMARY KEY ("id")
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
CREATE INDEX "registration_account_id_created_at_idx" ON "registration"("account_id", "created_at");

-- CreateIndex
CREATE UNIQUE INDEX "registration_live_key" ON "registration"("account_id", "chain_name", "account_key") WHERE (revoked_at IS NULL);

-- CreateIndex
CREATE UNIQUE INDEX "registration_key_index" ON "registration"("account_id", "chain_name", "key_index") WHERE (key_index >= 0);

CREATE INDEX "outbox_waiting" ON "outbox" ("created_at") WHERE "published_at" IS NULL;

CREATE FUNCTION "notify_outbox"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- Heard when the transaction commits, once per transaction.
  PERFORM pg_notify('outbox', '');
  RETURN NULL;
END
$$;

CREATE TRIGGER "outbox_notify" AFTER INSERT ON "outbox" FOR EACH STATEMENT EXECUTE FUNCTION "notify_outbox"();

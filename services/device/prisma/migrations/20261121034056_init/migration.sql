-- CreateTable
CREATE TABLE "device" (
    "id" UUID NOT NULL,
    "account_id" UUID NOT NULL,
    "algorithm" TEXT NOT NULL,
    "public_key" TEXT NOT NULL,
    "push_token" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "os_name" TEXT NOT NULL,
    "os_version" TEXT NOT NULL,
    "device_manufacturer" TEXT NOT NULL,
    "device_model" TEXT NOT NULL,
    "lang" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "sdk_version" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "last_used_at" TIMESTAMPTZ(3) NOT NULL,
    "removed_at" TIMESTAMPTZ(3),

    CONSTRAINT "device_pkey" PRIMARY KEY ("id")
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
CREATE INDEX "device_account_id_idx" ON "device"("account_id");

-- CreateIndex
CREATE UNIQUE INDEX "device_live_key" ON "device"("account_id", "public_key") WHERE (removed_at IS NULL);

CREATE INDEX "outbox_waiting" ON "outbox" ("created_at") WHERE "published_at" IS NULL;

CREATE FUNCTION "notify_outbox"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- Heard when the transaction commits, once per transaction.
  PERFORM pg_notify('outbox', '');
  RETURN NULL;
END
$$;

CREATE TRIGGER "outbox_notify" AFTER INSERT ON "outbox" FOR EACH STATEMENT EXECUTE FUNCTION "notify_outbox"();

-- CreateTable
CREATE TABLE "two_factor" (
    "id" UUID NOT NULL,
    "account_id" UUID NOT NULL,
    "chain_name" TEXT NOT NULL,
    "app_id" TEXT NOT NULL,
    "app_name" TEXT NOT NULL,
    "user_key_type" TEXT NOT NULL,
    "account_key_algorithm" TEXT NOT NULL,
    "account_key" TEXT NOT NULL,
    "device_key_algorithm" TEXT NOT NULL,
    "device_key" TEXT NOT NULL,
    "device" JSONB NOT NULL,
    "email" TEXT NOT NULL,
    "ip" TEXT NOT NULL,
    "location" TEXT NOT NULL,
    "src_device_id" UUID NOT NULL,
    "dest_device_id" UUID,
    "status" TEXT NOT NULL,
    "request_id" UUID NOT NULL,
    "message" BYTEA NOT NULL,
    "requested_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "attempt_id" UUID,
    "attempt_started_at" TIMESTAMPTZ(3),
    "approved_by" UUID,
    "rejected_at" TIMESTAMPTZ(3),
    "result_tx_id" TEXT,
    "result_ref_url" TEXT,
    "sealed_at" TIMESTAMPTZ(3),
    "key_index" INTEGER,
    "wrong_approvals" INTEGER NOT NULL,
    "settle_at" TIMESTAMPTZ(3),

    CONSTRAINT "two_factor_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "two_factor_request_ids" (
    "request_id" UUID NOT NULL,
    "two_factor_id" UUID NOT NULL,
    "message" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "two_factor_request_ids_pkey" PRIMARY KEY ("request_id")
);

-- CreateTable
CREATE TABLE "two_factor_reopening" (
    "account_id" UUID NOT NULL,
    "reopened_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "two_factor_reopening_pkey" PRIMARY KEY ("account_id")
);

-- CreateIndex
CREATE INDEX "two_factor_account_id_requested_at_idx" ON "two_factor"("account_id", "requested_at");

-- CreateIndex
CREATE INDEX "two_factor_due" ON "two_factor"("expires_at") WHERE (status = 'pending');

-- CreateIndex
CREATE INDEX "two_factor_unsettled" ON "two_factor"("settle_at") WHERE (settle_at IS NOT NULL);

-- CreateIndex
CREATE INDEX "two_factor_request_ids_two_factor_id_idx" ON "two_factor_request_ids"("two_factor_id");

-- AddForeignKey
ALTER TABLE "two_factor_request_ids" ADD CONSTRAINT "two_factor_request_ids_two_factor_id_fkey" FOREIGN KEY ("two_factor_id") REFERENCES "two_factor"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- CreateTable
CREATE TABLE "chain_alert" (
    "id" UUID NOT NULL,
    "account_id" UUID NOT NULL,
    "chain_name" TEXT NOT NULL,
    "transaction_id" TEXT NOT NULL,
    "event_index" INTEGER NOT NULL,
    "event_type" TEXT NOT NULL,
    "height" BIGINT NOT NULL,
    "kind" TEXT NOT NULL,
    "freezes" BOOLEAN NOT NULL,
    "raised_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "chain_alert_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "chain_alert_account_id_idx" ON "chain_alert"("account_id");

-- CreateIndex
CREATE UNIQUE INDEX "chain_alert_chain_name_transaction_id_event_index_key" ON "chain_alert"("chain_name", "transaction_id", "event_index");

-- CreateTable
CREATE TABLE "account_hold" (
    "alert_id" UUID NOT NULL,
    "account_id" UUID NOT NULL,
    "chain_name" TEXT NOT NULL,
    "transaction_id" TEXT NOT NULL,
    "event_type" TEXT NOT NULL,
    "placed_at" TIMESTAMPTZ(3) NOT NULL,
    "lifted_at" TIMESTAMPTZ(3),
    "lifted_by" TEXT NOT NULL DEFAULT '',
    "lift_reason" TEXT NOT NULL DEFAULT '',

    CONSTRAINT "account_hold_pkey" PRIMARY KEY ("alert_id")
);

-- CreateIndex
CREATE INDEX "account_hold_account_id_lifted_at_idx" ON "account_hold"("account_id", "lifted_at");

-- CreateIndex
CREATE INDEX "account_hold_lifted_at_idx" ON "account_hold"("lifted_at");

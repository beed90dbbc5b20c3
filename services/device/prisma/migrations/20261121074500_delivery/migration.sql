-- CreateTable
CREATE TABLE "delivery" (
    "event_id" UUID NOT NULL,
    "target" TEXT NOT NULL,
    "account_id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "delivery_pkey" PRIMARY KEY ("event_id","target")
);

-- CreateIndex
CREATE INDEX "delivery_account_id_kind_created_at_idx" ON "delivery"("account_id", "kind", "created_at");

-- CreateIndex
CREATE INDEX "delivery_created_at_idx" ON "delivery"("created_at");

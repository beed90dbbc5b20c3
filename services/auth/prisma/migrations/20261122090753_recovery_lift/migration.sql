-- CreateTable
CREATE TABLE "recovery_lift" (
    "account_id" UUID NOT NULL,
    "since" TIMESTAMPTZ(3) NOT NULL,
    "last_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "recovery_lift_pkey" PRIMARY KEY ("account_id")
);

-- CreateIndex
CREATE INDEX "recovery_lift_last_at_idx" ON "recovery_lift"("last_at");

-- CreateTable
CREATE TABLE "budget_settlement" (
    "chain_name" TEXT NOT NULL,
    "height" BIGINT NOT NULL,
    "lease_owner" UUID NOT NULL,
    "lease_until" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "budget_settlement_pkey" PRIMARY KEY ("chain_name")
);

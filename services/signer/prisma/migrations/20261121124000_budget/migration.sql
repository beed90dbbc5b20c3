-- CreateTable
CREATE TABLE "budget_reservation" (
    "chain_name" TEXT NOT NULL,
    "proposal" TEXT NOT NULL,
    "reference_block" TEXT NOT NULL,
    "computation" BIGINT NOT NULL,
    "fees" BIGINT NOT NULL,
    "budgets" TEXT[] NOT NULL,
    "renewed_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "seen_height" BIGINT,
    "settled_at" TIMESTAMPTZ(3),
    "previous_budgets" TEXT[] NOT NULL DEFAULT ARRAY[]::TEXT[],
    "added_count" INTEGER NOT NULL,
    "added_computation" BIGINT NOT NULL,
    "added_fees" BIGINT NOT NULL,

    CONSTRAINT "budget_reservation_pkey" PRIMARY KEY ("chain_name","proposal")
);

-- CreateTable
CREATE TABLE "budget_usage" (
    "chain_name" TEXT NOT NULL,
    "budget" TEXT NOT NULL,
    "ends_at" TIMESTAMPTZ(3) NOT NULL,
    "count" BIGINT NOT NULL,
    "computation" BIGINT NOT NULL,
    "fees" BIGINT NOT NULL,

    CONSTRAINT "budget_usage_pkey" PRIMARY KEY ("chain_name","budget")
);

-- CreateIndex
CREATE INDEX "budget_usage_ends_at_idx" ON "budget_usage"("ends_at");

-- Reservations that wait for the chain: few at any time, whatever the table has.
CREATE INDEX "budget_reservation_open" ON "budget_reservation"("chain_name", "seen_height")
    WHERE "settled_at" IS NULL AND "computation" > 0;

-- For pruning, at next to no cost for each signature: rows come in the order of their time.
CREATE INDEX "budget_reservation_renewed_at_idx" ON "budget_reservation" USING BRIN ("renewed_at");

-- Takes back a whole statement in which a limit would be passed.
CREATE FUNCTION "over_limit"() RETURNS BOOLEAN LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RAISE EXCEPTION 'over a limit' USING ERRCODE = 'CS001';
END $$;

-- CreateTable
CREATE TABLE "time_lock" (
    "id" UUID NOT NULL,
    "account_id" UUID NOT NULL,
    "chain_name" TEXT NOT NULL,
    "operation" TEXT NOT NULL,
    "request_hash" TEXT NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "available_at" TIMESTAMPTZ(3) NOT NULL,
    "lapses_at" TIMESTAMPTZ(3) NOT NULL,
    "cancelled_at" TIMESTAMPTZ(3),

    CONSTRAINT "time_lock_pkey" PRIMARY KEY ("account_id","chain_name","operation")
);

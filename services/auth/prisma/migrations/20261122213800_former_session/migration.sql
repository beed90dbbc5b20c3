-- CreateTable
CREATE TABLE "former_session" (
    "account_id" UUID NOT NULL,
    "device_key" TEXT NOT NULL,
    "device_key_algorithm" TEXT NOT NULL,
    "account_key" TEXT NOT NULL,
    "account_key_algorithm" TEXT NOT NULL,
    "first_full_at" TIMESTAMPTZ(3),

    CONSTRAINT "former_session_pkey" PRIMARY KEY ("account_id","device_key","device_key_algorithm","account_key","account_key_algorithm")
);

-- For deletion: when a session is over, or was.
CREATE INDEX "session_over" ON "session" ((coalesce("ended_at", "expires_at")));

-- DropIndex
DROP INDEX "two_factor_sign_in_expires_at_idx";

-- CreateIndex
CREATE INDEX "two_factor_sign_in_unused" ON "two_factor_sign_in"("expires_at") WHERE (transaction_id IS NULL);

-- CreateIndex
CREATE INDEX "rate_limit_expire_idx" ON "rate_limit"("expire");

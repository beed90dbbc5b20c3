-- CreateTable
CREATE TABLE "key_watch" (
    "chain_name" TEXT NOT NULL,
    "height" BIGINT NOT NULL,
    "lease_owner" UUID NOT NULL,
    "lease_until" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "key_watch_pkey" PRIMARY KEY ("chain_name")
);

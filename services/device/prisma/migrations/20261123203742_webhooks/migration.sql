-- CreateTable
CREATE TABLE "webhook_delivery" (
    "account_id" UUID NOT NULL,
    "endpoint" TEXT NOT NULL,
    "event_id" UUID NOT NULL,
    "type" TEXT NOT NULL,
    "body" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "attempts" INTEGER NOT NULL,
    "last_result" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "give_up_at" TIMESTAMPTZ(3) NOT NULL,
    "forget_at" TIMESTAMPTZ(3) NOT NULL,
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "webhook_delivery_pkey" PRIMARY KEY ("account_id","endpoint","event_id")
);

-- CreateTable
CREATE TABLE "webhook_queue" (
    "account_id" UUID NOT NULL,
    "endpoint" TEXT NOT NULL,
    "due_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "webhook_queue_pkey" PRIMARY KEY ("account_id","endpoint")
);

-- The tables are new: nobody waits.
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX "webhook_delivery_waiting" ON "webhook_delivery"("account_id", "endpoint", "event_id") WHERE (state = 'waiting');
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX "webhook_delivery_open" ON "webhook_delivery"("endpoint", "state", "created_at") WHERE (state <> 'delivered');
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX "webhook_delivery_endpoint_created_at_idx" ON "webhook_delivery"("endpoint", "created_at");
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX "webhook_delivery_forget_at_idx" ON "webhook_delivery"("forget_at");
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX "webhook_queue_endpoint_due_at_idx" ON "webhook_queue"("endpoint", "due_at");
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX "webhook_queue_due_at_idx" ON "webhook_queue"("due_at");

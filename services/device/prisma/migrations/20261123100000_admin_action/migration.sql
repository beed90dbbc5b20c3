-- The commands of administrators.
CREATE TABLE "admin_action" (
    "id" UUID NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "person" TEXT NOT NULL,
    "command" TEXT NOT NULL,
    "account_id" UUID,
    "arguments" JSONB NOT NULL,
    "reason" TEXT NOT NULL,
    "outcome" TEXT NOT NULL,
    "request_id" UUID,

    CONSTRAINT "admin_action_pkey" PRIMARY KEY ("id")
);
-- The table is new: nobody waits.
-- squawk-ignore require-concurrent-index-creation
CREATE UNIQUE INDEX "admin_action_request_id_key" ON "admin_action"("request_id");
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX "admin_action_account_id_id_idx" ON "admin_action"("account_id", "id");

-- Rows are only added. The migrations' command takes these rights from a service that is not the owner.
REVOKE UPDATE, DELETE, TRUNCATE ON "admin_action" FROM CURRENT_USER;

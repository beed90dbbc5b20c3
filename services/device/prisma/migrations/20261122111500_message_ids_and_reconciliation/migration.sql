-- Names only; every row stays as it is.
ALTER TABLE "two_factor" RENAME COLUMN "request_id" TO "message_id";
ALTER TABLE "two_factor" RENAME COLUMN "approved_by" TO "approver_id";
ALTER TABLE "two_factor" RENAME COLUMN "rejected_by" TO "rejected_by_key";
ALTER TABLE "two_factor" RENAME COLUMN "settle_at" TO "reconcile_at";
ALTER INDEX "two_factor_unsettled" RENAME TO "two_factor_unconfirmed";

ALTER TABLE "two_factor_request_ids" RENAME TO "two_factor_message";
ALTER TABLE "two_factor_message" RENAME COLUMN "request_id" TO "message_id";
ALTER TABLE "two_factor_message" RENAME CONSTRAINT "two_factor_request_ids_pkey" TO "two_factor_message_pkey";
ALTER TABLE "two_factor_message" RENAME CONSTRAINT "two_factor_request_ids_two_factor_id_fkey" TO "two_factor_message_two_factor_id_fkey";
ALTER INDEX "two_factor_request_ids_two_factor_id_idx" RENAME TO "two_factor_message_two_factor_id_idx";

-- Names only; every row stays as it is.
ALTER TABLE "sign_up" RENAME COLUMN "user_key" TO "account_key";
ALTER TABLE "sign_up" RENAME COLUMN "user_key_algorithm" TO "account_key_algorithm";
ALTER INDEX "sign_up_user_key_idx" RENAME TO "sign_up_account_key_idx";

ALTER TABLE "two_factor_sign_in" RENAME COLUMN "user_key" TO "account_key";
ALTER TABLE "two_factor_sign_in" RENAME COLUMN "user_key_algorithm" TO "account_key_algorithm";
ALTER TABLE "two_factor_sign_in" RENAME COLUMN "admitted_at" TO "enrolled_at";
ALTER INDEX "two_factor_sign_in_account_id_user_key_idx" RENAME TO "two_factor_sign_in_account_id_account_key_idx";

-- It is the id of the event time-lock-started, and not of an HTTP request.
ALTER TABLE "freeze_party" RENAME COLUMN "request_id" TO "time_lock_id";

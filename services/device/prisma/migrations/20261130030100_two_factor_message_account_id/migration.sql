-- The table has the requests of a month: it is read in a moment.
-- squawk-ignore adding-not-nullable-field
ALTER TABLE "two_factor_message" ALTER COLUMN "account_id" SET NOT NULL;

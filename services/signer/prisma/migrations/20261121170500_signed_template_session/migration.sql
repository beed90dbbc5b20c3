-- AlterTable: null where a signer from before has signed; such numbers are nobody's, and old within the hour.
ALTER TABLE "signed_template" ADD COLUMN "session_id" UUID;

-- AlterTable
ALTER TABLE "proposal_key" ADD COLUMN     "next_sequence_number" BIGINT;

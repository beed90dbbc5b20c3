-- DropIndex
DROP INDEX "audit_record_message_hash_idx";

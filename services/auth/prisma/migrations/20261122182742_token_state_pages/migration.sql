-- DropIndex
DROP INDEX "token_state_entry_txid_idx";

-- CreateIndex
CREATE INDEX "token_state_entry_txid_kind_subject_idx" ON "token_state_entry"("txid", "kind", "subject");

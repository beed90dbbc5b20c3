-- The requests whose key was added: somebody with the login can leave very many others on an account.
CREATE INDEX CONCURRENTLY "two_factor_sign_in_account_id_transaction_id_idx" ON "two_factor_sign_in"("account_id", "transaction_id");

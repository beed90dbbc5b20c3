-- CreateIndex
CREATE INDEX "two_factor_ended" ON "two_factor"("expires_at") WHERE (status <> 'pending' AND reconcile_at IS NULL);

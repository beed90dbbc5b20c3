-- CreateIndex
CREATE INDEX "deployment_creation_id_idx" ON "deployment"("creation_id");

-- For deletion: attempts that ended.
CREATE INDEX "key_addition_ended" ON "key_addition" ("created_at") WHERE "state" <> 'submitted';

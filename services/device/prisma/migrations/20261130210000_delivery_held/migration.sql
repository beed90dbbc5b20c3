-- Few rows are held, and the job that looks for them reads no others.
CREATE INDEX CONCURRENTLY "delivery_held" ON "delivery"("created_at") WHERE (target = 'held');

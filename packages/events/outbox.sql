-- For a service's migration: the trigger that Prisma's schema cannot express, and the index of unpublished
-- rows. The table itself comes from the schema's model Outbox:
--   model Outbox {
--     id          String    @id @db.Uuid
--     subject     String
--     payload     Bytes
--     createdAt   DateTime  @default(now()) @map("created_at") @db.Timestamptz(3)
--     publishedAt DateTime? @map("published_at") @db.Timestamptz(3)
--     @@map("outbox")
--   }
CREATE INDEX "outbox_waiting" ON "outbox" ("created_at") WHERE "published_at" IS NULL;

CREATE FUNCTION "notify_outbox"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- Delivered when the transaction commits, once per transaction.
  PERFORM pg_notify('outbox', '');
  RETURN NULL;
END
$$;

CREATE TRIGGER "outbox_notify" AFTER INSERT ON "outbox" FOR EACH STATEMENT EXECUTE FUNCTION "notify_outbox"();

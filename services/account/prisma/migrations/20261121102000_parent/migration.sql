-- CreateTable
CREATE TABLE "parent" (
    "account_id" UUID NOT NULL,
    "chain_name" TEXT NOT NULL,
    "address" TEXT NOT NULL,
    "chain_id" INTEGER NOT NULL,

    CONSTRAINT "parent_pkey" PRIMARY KEY ("account_id","chain_name","address")
);

-- AddForeignKey
ALTER TABLE "parent" ADD CONSTRAINT "parent_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "account"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

CREATE TRIGGER account_changed AFTER INSERT OR UPDATE OR DELETE ON "parent" FOR EACH ROW EXECUTE FUNCTION notify_account_changed();

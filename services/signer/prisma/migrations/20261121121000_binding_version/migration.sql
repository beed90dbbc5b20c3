-- CreateTable
CREATE TABLE "binding_version" (
    "account_id" UUID NOT NULL,
    "chain_name" TEXT NOT NULL,
    "server_key_version" INTEGER NOT NULL,
    "server_key_index" INTEGER NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "binding_version_pkey" PRIMARY KEY ("account_id","chain_name","server_key_version")
);

-- CreateTable
CREATE TABLE "server_key_rotation" (
    "account_id" UUID NOT NULL,
    "chain_name" TEXT NOT NULL,
    "server_key_version" INTEGER NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "server_key_rotation_pkey" PRIMARY KEY ("account_id","chain_name","server_key_version")
);

-- CreateIndex
CREATE UNIQUE INDEX "binding_version_account_id_chain_name_server_key_index_key" ON "binding_version"("account_id", "chain_name", "server_key_index");

-- AddForeignKey
ALTER TABLE "binding_version" ADD CONSTRAINT "binding_version_account_id_chain_name_fkey" FOREIGN KEY ("account_id", "chain_name") REFERENCES "binding"("account_id", "chain_name") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "server_key_rotation" ADD CONSTRAINT "server_key_rotation_account_id_chain_name_fkey" FOREIGN KEY ("account_id", "chain_name") REFERENCES "binding"("account_id", "chain_name") ON DELETE RESTRICT ON UPDATE CASCADE;

-- Whoever remembers a binding hears of its changes, before a rotation can be on chain: a rotation is told here before it is signed.
CREATE FUNCTION "notify_binding_changed"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('binding_changed', NEW.account_id::text);
  RETURN NULL;
END
$$;

CREATE TRIGGER "binding_changed" AFTER INSERT ON "binding" FOR EACH ROW EXECUTE FUNCTION "notify_binding_changed"();
CREATE TRIGGER "binding_changed" AFTER INSERT ON "binding_version" FOR EACH ROW EXECUTE FUNCTION "notify_binding_changed"();
CREATE TRIGGER "binding_changed" AFTER INSERT ON "server_key_rotation" FOR EACH ROW EXECUTE FUNCTION "notify_binding_changed"();

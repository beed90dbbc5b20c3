-- CreateTable
CREATE TABLE "bound_address" (
    "chain_name" TEXT NOT NULL,
    "address" TEXT NOT NULL,
    "account_id" UUID NOT NULL,

    CONSTRAINT "bound_address_pkey" PRIMARY KEY ("chain_name","address")
);

-- Processes of the version before add none here: the address of a binding is unique too.
INSERT INTO "bound_address" (chain_name, address, account_id) SELECT chain_name, address, account_id FROM binding;

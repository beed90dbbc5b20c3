-- CreateTable
CREATE TABLE "audit_checkpoint" (
    "sequence" BIGINT NOT NULL,
    "time" TIMESTAMPTZ(3) NOT NULL,
    "text" TEXT NOT NULL,
    "hash" TEXT NOT NULL,
    "signature" TEXT NOT NULL,

    CONSTRAINT "audit_checkpoint_pkey" PRIMARY KEY ("sequence")
);

-- CreateTable
CREATE TABLE "audit_tree" (
    "chain_id" UUID NOT NULL,
    "size" BIGINT NOT NULL,
    "hash" TEXT NOT NULL,
    "frontier" BYTEA NOT NULL,

    CONSTRAINT "audit_tree_pkey" PRIMARY KEY ("chain_id")
);

-- CreateTable
CREATE TABLE "audit_tree_block" (
    "chain_id" UUID NOT NULL,
    "index" INTEGER NOT NULL,
    "root" BYTEA NOT NULL,

    CONSTRAINT "audit_tree_block_pkey" PRIMARY KEY ("chain_id","index")
);

-- CreateTable
CREATE TABLE "audit_checkpoint_head" (
    "chain_id" UUID NOT NULL,
    "size" BIGINT NOT NULL,
    "checkpoint" BIGINT NOT NULL,

    CONSTRAINT "audit_checkpoint_head_pkey" PRIMARY KEY ("chain_id","size")
);

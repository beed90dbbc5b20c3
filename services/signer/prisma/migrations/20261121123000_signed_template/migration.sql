-- CreateTable
CREATE TABLE "signed_template" (
    "account_id" UUID NOT NULL,
    "chain_name" TEXT NOT NULL,
    "key_index" INTEGER NOT NULL,
    "number" BIGINT NOT NULL,
    "signed_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "signed_template_pkey" PRIMARY KEY ("account_id", "chain_name", "key_index", "number")
);

-- CreateIndex
CREATE INDEX "signed_template_signed_at_idx" ON "signed_template"("signed_at");

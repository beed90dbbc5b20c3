-- CreateTable
CREATE TABLE "token_key_lock" (
    "id" INTEGER NOT NULL,

    CONSTRAINT "token_key_lock_pkey" PRIMARY KEY ("id")
);

INSERT INTO "token_key_lock" ("id") VALUES (1);

-- CreateTable
CREATE TABLE "database_mark" (
    "id" INTEGER NOT NULL,
    "timeline" INTEGER NOT NULL,
    "seen_at" TIMESTAMPTZ(3) NOT NULL,
    "restored_at" TIMESTAMPTZ(3),
    "restored_by" TEXT NOT NULL DEFAULT '',
    "restore_reason" TEXT NOT NULL DEFAULT '',

    CONSTRAINT "database_mark_pkey" PRIMARY KEY ("id")
);

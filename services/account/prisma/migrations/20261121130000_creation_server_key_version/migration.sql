-- AlterTable
ALTER TABLE "creation" ADD COLUMN "server_key_version" INTEGER NOT NULL DEFAULT 1;

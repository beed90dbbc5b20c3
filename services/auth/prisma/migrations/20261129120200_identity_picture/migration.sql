-- Nothing reads it, and it is written no more.
ALTER TABLE "identity" ALTER COLUMN "picture" SET DEFAULT '';

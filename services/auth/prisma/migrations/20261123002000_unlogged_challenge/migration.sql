-- A commit that changes only unlogged tables does not wait for the disk. A crash of Postgres loses the
-- challenges that wait for an answer, used ones too: their answers are refused, and clients ask again.
ALTER TABLE "challenge" SET UNLOGGED;

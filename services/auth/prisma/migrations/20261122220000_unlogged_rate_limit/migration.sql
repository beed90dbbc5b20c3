-- A commit that changes only unlogged tables does not wait for the disk; the counts may be lost in a crash.
ALTER TABLE "rate_limit" SET UNLOGGED;

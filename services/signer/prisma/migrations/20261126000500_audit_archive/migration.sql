-- Parts of the audit log that were taken out of the database, each by one row.
CREATE TABLE "audit_archive" (
    "after_checkpoint" BIGINT NOT NULL,
    "text" TEXT NOT NULL,
    "signature" TEXT NOT NULL,

    CONSTRAINT "audit_archive_pkey" PRIMARY KEY ("after_checkpoint")
);

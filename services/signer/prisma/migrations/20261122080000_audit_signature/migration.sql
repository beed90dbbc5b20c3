-- What an earlier version wrote stays without a signature and is reported by `audit verify`. The defaults go at once:
-- a process of that version that still runs can write no batch after this.
ALTER TABLE "audit_chain" ADD COLUMN "certificate" TEXT NOT NULL DEFAULT '',
    ADD COLUMN "certificate_signature" TEXT NOT NULL DEFAULT '';
ALTER TABLE "audit_chain" ALTER COLUMN "certificate" DROP DEFAULT, ALTER COLUMN "certificate_signature" DROP DEFAULT;
ALTER TABLE "audit_batch" ADD COLUMN "signature" BYTEA NOT NULL DEFAULT '';
ALTER TABLE "audit_batch" ALTER COLUMN "signature" DROP DEFAULT;

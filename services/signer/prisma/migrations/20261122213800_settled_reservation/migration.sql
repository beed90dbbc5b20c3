-- DropIndex
DROP INDEX "budget_reservation_renewed_at_idx";

-- For deletion. The table's space is used again, so that a BRIN index over the time soon selects all of it.
CREATE INDEX "budget_reservation_settled" ON "budget_reservation" ("renewed_at")
    WHERE "settled_at" IS NOT NULL OR "computation" = 0;

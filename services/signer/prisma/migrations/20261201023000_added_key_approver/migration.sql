-- The device's key that approved the first addition. Earlier rows have none, and count for no device.
ALTER TABLE "added_key" ADD COLUMN "approver_x" TEXT;

import { type AddedKey, type AddedKeys, findAdded } from "../domain/added-keys.ts";
import type { RevokedKeys } from "../domain/revoked-keys.ts";

/** User keys of one account in memory. */
export function memoryAddedKeys(revokedKeys: Pick<RevokedKeys, "has">): AddedKeys & { clear(): void } {
  let rows: AddedKey[] = [];
  return {
    clear: () => {
      rows = [];
    },
    async recordCreation(_, keys, now) {
      const times = { firstSignedAt: now, signedAt: now };
      for (const { key } of keys) {
        if (!findAdded(rows, key.publicKey)) rows.push({ key, source: "creation", ...times, revoked: false });
      }
    },
    async record(_, { key, source, now, renewableSince, approverSince }) {
      const known = findAdded(rows, key.publicKey);
      const times = { firstSignedAt: now, signedAt: now };
      if (!known) {
        rows.push({ key, source, ...times, revoked: false });
        return true;
      }
      const renews = known.firstSignedAt > renewableSince;
      const approved = source === "recovery" || (approverSince && known.firstSignedAt >= approverSince);
      if (!renews && !approved) return false;
      const firstSignedAt = renews ? known.firstSignedAt : now;
      const changed = { ...known, firstSignedAt, signedAt: now, ...(known.source === "device" && { source }) };
      rows = rows.map((row) => (row === known ? changed : row));
      return true;
    },
    of: (account) =>
      Promise.all(rows.map(async (row) => ({ ...row, revoked: await revokedKeys.has(account, row.key.publicKey) }))),
  };
}

import type { PublicKey } from "@countersign/keys";
import type { AccountOnChain, RevokedKeys } from "../domain/ports.ts";
import type { DeviceApprovedKey, KeyAddition } from "../policy/effects.ts";
import { sameHolder } from "../policy/template.ts";
import type { AddedKey, KeySource } from "../policy/user-keys.ts";

/** Returns the row of a key, or of its negation. */
export const findAdded = <Row extends Pick<AddedKey, "key">>(
  keys: readonly Row[],
  publicKey: string,
): Row | undefined => keys.find(({ key }) => sameHolder(key.publicKey, publicKey));

/** User keys of one account in memory. */
export function memoryAddedKeys(revokedKeys: Pick<RevokedKeys, "has">) {
  let rows: (Omit<AddedKey, "source"> & Pick<KeyAddition, "approver"> & { source: KeySource | "unknown" })[] = [];
  const of = (account: AccountOnChain): Promise<AddedKey[]> => {
    const known = rows.flatMap(({ source, ...row }) => (source === "unknown" ? [] : [{ ...row, source }]));
    return Promise.all(
      known.map(async (row) => ({ ...row, revoked: await revokedKeys.has(account, row.key.publicKey) })),
    );
  };
  return {
    clear: () => {
      rows = [];
    },
    async recordCreation(keys: readonly PublicKey[], now: Date) {
      const times = { firstSignedAt: now, signedAt: now };
      for (const key of keys) {
        if (!findAdded(rows, key.publicKey)) rows.push({ key, source: "creation", ...times, revoked: false });
      }
    },
    async record(_: AccountOnChain, addition: KeyAddition, now: Date) {
      const { key, source, approver, renewableSince, approverSince } = addition;
      const known = findAdded(rows, key.publicKey);
      const times = { firstSignedAt: now, signedAt: now };
      if (source === "unknown" && approver === undefined && (!known || known.source === "unknown")) return true;
      if (!known) {
        rows.push({ key, source, approver, ...times, revoked: false });
        return true;
      }
      const renews = known.firstSignedAt > renewableSince;
      const isUnknown = known.source === "unknown";
      const approved = source === "recovery" || (approverSince && known.firstSignedAt >= approverSince);
      if (!renews && !approved && !isUnknown) return false;
      const isReplaced = isUnknown || (known.source === "device" && source !== "unknown");
      const isRecovered = isReplaced && source === "recovery";
      const firstSignedAt = renews && !isRecovered ? known.firstSignedAt : now;
      const changed = {
        ...known,
        firstSignedAt,
        signedAt: now,
        ...(isReplaced && { source }),
        ...(isUnknown && { key, approver }),
      };
      rows = rows.map((row) => (row === known ? changed : row));
      return true;
    },
    countOthersOfDevices: ({ publicKey, approver, countedSince }: DeviceApprovedKey) =>
      rows.filter(
        ({ key, source, approver: by, firstSignedAt }) =>
          (source === "device" || source === "unknown") &&
          firstSignedAt > countedSince &&
          !sameHolder(key.publicKey, publicKey) &&
          (approver === undefined || sameHolder(approver, by ?? "")),
      ).length,
    of,
    find: async (account: AccountOnChain, publicKey: string) => findAdded(await of(account), publicKey),
  };
}

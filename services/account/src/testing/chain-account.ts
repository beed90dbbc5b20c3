import type { AccountKey } from "../domain/key-additions/key-addition.ts";

/** One account as the chain and the store show it to a test. */
export const chainName = "flow-emulator";
export const accountId = "01900000-0000-7000-8000-000000000001";
export const address = "01cf0e2f2f715450";
export const paymaster = "f3fcd2c1a78f5eee";
export const signal = new AbortController().signal;

/** Returns the id of the block at a height. */
export const block = (height: number) => height.toString(16).padStart(64, "0");

export const key = (index: number, publicKey: string, change: Partial<AccountKey> = {}): AccountKey => ({
  index,
  publicKey,
  weight: 1,
  signatureAlgorithm: "ECDSA_P256",
  hashAlgorithm: "SHA2_256",
  sequenceNumber: 0n,
  revoked: false,
  ...change,
});

/** Returns a key of the server's; `publicKey` as 128 hex digits. */
export const serverKeyAt = (index: number, publicKey: string) =>
  key(index, publicKey, { weight: 999, hashAlgorithm: "SHA3_256", sequenceNumber: 5n });

const account = { id: accountId, profileImageUrl: "", createdAt: new Date(), updatedAt: new Date(), parents: [] };
export const accounts = {
  find: async () => ({
    account: { ...account, addresses: [{ chainName, chainType: "cadence" as const, address, chainId: 646 }] },
    deployment: undefined,
  }),
};

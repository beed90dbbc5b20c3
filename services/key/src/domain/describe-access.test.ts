import { AppError } from "@countersign/core";
import { describe, expect, it } from "vitest";
import { memoryKeyStore } from "../testing/memory-key-store.ts";
import { someKey, somePublicKey } from "../testing/samples.ts";
import { accessOf, describeAccess } from "./describe-access.ts";
import { OF_USER_KEY, type Registration } from "./registration.ts";

const { requestId: _, ...sample } = someKey();
const registration = (change: Partial<Registration> = {}): Registration => ({
  ...OF_USER_KEY,
  ...sample,
  id: "id",
  accountKey: somePublicKey(),
  createdAt: new Date(),
  lastUsedAt: null,
  revokedAt: null,
  ...change,
});
const { chainName, deviceKey } = sample;
const recovery = { kind: "recovery", origin: "recovery" } as const;

describe("keys that sign in", () => {
  it("is a device with an active key, once, however many keys it holds", () => {
    const other = somePublicKey();
    const keys = [registration(), registration({ keyIndex: 2 }), registration({ keyIndex: 3, deviceKey: other })];
    expect(accessOf(keys)).toEqual([{ chainName, deviceKeys: [deviceKey, other], recoveryKey: false }]);
  });

  it("is no key that was revoked, or that nobody registered", () => {
    const revoked = registration({ revokedAt: new Date() });
    expect(accessOf([revoked, registration({ origin: "chain" })])).toEqual([]);
  });

  it("is a recovery key once it is reported and on chain", () => {
    const chains = (change: Partial<Registration>) => accessOf([registration({ ...recovery, ...change })]);
    expect(chains({})).toEqual([{ chainName, deviceKeys: [], recoveryKey: true }]);
    expect(chains({ keyIndex: -1, pendingUntil: new Date() })).toEqual([]);
    expect(chains({ origin: "chain" })).toEqual([]);
    expect(chains({ revokedAt: new Date() })).toEqual([]);
  });

  it("is given for each chain separately", () => {
    const elsewhere = registration({ ...recovery, chainName: "flow-testnet" });
    expect(accessOf([registration(), elsewhere])).toEqual([
      { chainName, deviceKeys: [deviceKey], recoveryKey: false },
      { chainName: "flow-testnet", deviceKeys: [], recoveryKey: true },
    ]);
  });

  it("is not said where the chain does not answer", async () => {
    const store = memoryKeyStore();
    store.registrations.push(registration());
    const follow = async () => {
      throw new AppError("ChainUnavailable");
    };
    const answer = describeAccess({ store, follow })({ accountId: sample.accountId, requestId: "r" });
    await expect(answer).rejects.toMatchObject({ reason: "ChainUnavailable" });
  });
});

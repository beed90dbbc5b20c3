import { decodeMessage, type FlowTransaction, payloadMessage, readKeyChange } from "@countersign/flow";
import { describe, expect, it } from "vitest";
import { CountersignClient } from "./countersign-client.ts";
import { generateDeviceKey } from "./node/device-key.ts";
import type { Key } from "./resources.ts";
import { type DeviceRevocation, type RevokeDeviceOptions, revokeDevice } from "./revoke-device.ts";
import { FakeChain } from "./testing/fake-chain.ts";

const account = "01cf0e2f2f715450";
const networks = ["flow-emulator", "flow-other"].map((chainName) => ({
  chainName,
  accessNode: "http://node.test",
  paymaster: "0x179b6b1cb6755e31",
}));
const own = generateDeviceKey();
const lost = generateDeviceKey();
/** A device's identity key that is not its account key. */
const identity = generateDeviceKey("EdDSA").publicKey;

const keyOf = (publicKey: string, change: Partial<Key> = {}, devicePublicKey = publicKey): Partial<Key> => ({
  chainName: "flow-emulator",
  type: "user-key",
  publicKey,
  revokedAt: "",
  userKey: { type: "device", device: null, devicePublicKey, app: { appId: "", appName: "" } },
  ...change,
});

type Refusal = { status: number; error: string } & Record<string, unknown>;

/** Returns a service that lists `keys`, and a chain that runs what it has signed. */
function setUp(options: { keys: Partial<Key>[]; onChain?: string[]; remove?: Refusal; sign?: Refusal }) {
  const onChain = options.onChain ?? [...new Set(options.keys.map(({ publicKey }) => publicKey!))];
  const chain = new FakeChain([
    { weight: 999, hashAlgorithm: "SHA3_256" },
    { publicKey: own.publicKey },
    ...onChain.map((publicKey) => ({ publicKey })),
  ]);
  chain.execute = (transaction: FlowTransaction) => {
    const change = readKeyChange(decodeMessage(payloadMessage(transaction)));
    const oldKey = change?.template === "revoke-user-key" ? change.oldKey : "";
    const key = chain.keys.find(({ publicKey, revoked }) => publicKey === oldKey && !revoked);
    if (!key) return "assertion failed: no such user key";
    chain.keys[key.index] = { ...key, revoked: true };
    return "";
  };
  const asked: string[] = [];
  const fetch = async (input: string | URL | Request, init?: RequestInit) => {
    const { pathname, search } = new URL(String(input));
    const refuse = (refusal: Refusal) => Response.json(refusal, { status: refusal.status });
    asked.push(`${init?.method} ${pathname}${search}`);
    if (pathname === "/account/v1/me") {
      const addresses = networks.map(({ chainName }) => ({ chainName, chainType: "cadence", address: `0x${account}` }));
      return Response.json({ account: { addresses } });
    }
    if (pathname === "/key/v1/keys") return Response.json({ keys: options.keys });
    if (pathname.startsWith("/device/v1/devices/") && options.remove) return refuse(options.remove);
    if (init?.method === "DELETE") return new Response(null, { status: 204 });
    if (options.sign) return refuse(options.sign);
    const addr = pathname.endsWith("paymaster") ? networks[0]!.paymaster : `0x${account}`;
    return Response.json({ signature: { addr, keyId: 0, signature: "0a".repeat(64) } });
  };
  const client = new CountersignClient({ baseUrl: "http://gateway.test", deviceKey: own, fetch });
  const progress: DeviceRevocation[] = [];
  const revoke = (device: Parameters<typeof revokeDevice>[1], change: Partial<RevokeDeviceOptions> = {}) =>
    revokeDevice(client, device, {
      networks,
      accessApi: chain.access(),
      onProgress: (revocation) => progress.push(revocation),
      ...change,
    });
  return { chain, asked, progress, revoke };
}

const revokedOnChain = ({ chain }: { chain: FakeChain }) =>
  chain.keys.filter(({ revoked }) => revoked).map(({ publicKey }) => publicKey);

describe("revokeDevice", () => {
  it("removes the device, revokes its key, and reports that; progress says which half is under way", async () => {
    const all = setUp({ keys: [keyOf(own.publicKey), keyOf(lost.publicKey)] });
    const revocation = await all.revoke(lost.publicKey.toUpperCase());
    const { transactionId } = revocation.keys[0]!;
    expect(revocation).toMatchObject({
      publicKey: lost.publicKey,
      removed: true,
      keys: [{ chainName: "flow-emulator", publicKey: lost.publicKey, state: "revoked" }],
      done: true,
    });
    expect(all.chain.ran).toEqual([transactionId]);
    expect(revokedOnChain(all)).toEqual([lost.publicKey]);
    expect(all.asked.filter((line) => line.startsWith("DELETE"))).toEqual([
      `DELETE /device/v1/devices/${lost.publicKey}`,
      `DELETE /key/v1/keys/${lost.publicKey}?txId=${transactionId}`,
    ]);
    expect(all.progress.map(({ removed, keys, done }) => [removed, keys[0]!.state, done])).toEqual([
      [true, "open", false],
      [true, "pending", false],
      [true, "revoked", true],
    ]);
  });

  it("finds the keys of a removed device that has an identity key of its own, on all chains that it knows", async () => {
    const keys = [
      keyOf(lost.publicKey, { userKey: null }),
      ...["flow-emulator", "flow-other", "flow-unknown"].map((chainName) =>
        keyOf(lost.publicKey, { chainName }, identity),
      ),
      keyOf(generateDeviceKey().publicKey, { revokedAt: "2026-11-20T10:00:00.000Z" }, identity),
      keyOf(generateDeviceKey().publicKey, { type: "recover-key" }, identity),
    ];
    const { revoke } = setUp({ keys });
    const { keys: revoked, done } = await revoke({ publicKey: identity });
    expect(revoked.map(({ chainName, state }) => [chainName, state])).toEqual([
      ["flow-emulator", "revoked"],
      ["flow-other", "revoked"],
      ["flow-unknown", "open"],
      ["flow-emulator", "revoked"],
    ]);
    expect(done).toBe(false);
  });

  it("goes on where an earlier call ended, and does nothing twice", async () => {
    const earlier = setUp({ keys: [keyOf(lost.publicKey)], onChain: [] });
    expect(await earlier.revoke(lost.publicKey)).toMatchObject({ done: true, keys: [{ transactionId: "" }] });
    expect(earlier.chain.submitted).toEqual([]);

    // Another device of the account is faster than this one's transaction.
    const raced = setUp({ keys: [keyOf(lost.publicKey)] });
    const execute = raced.chain.execute;
    raced.chain.execute = (transaction) => {
      execute(transaction);
      return execute(transaction);
    };
    expect(await raced.revoke(lost.publicKey)).toMatchObject({ done: true, keys: [{ state: "revoked" }] });
  });

  it("says until when the key waits while the device is young, whether it may remove the other or not", async () => {
    const availableAt = "2026-11-23T10:00:00.000Z";
    const sign = { status: 403, error: "TimeLockRequired", availableAt, timeLockId: "d-1" };
    const delayed = { state: "time-locked", availableAt, timeLockId: "d-1", transactionId: "" };
    const removed = setUp({ keys: [keyOf(lost.publicKey)], sign });
    expect(await removed.revoke(lost.publicKey)).toMatchObject({ removed: true, keys: [delayed], done: false });
    const refused = setUp({ keys: [keyOf(lost.publicKey)], sign, remove: { status: 403, error: "DeviceTooYoung" } });
    expect(await refused.revoke(lost.publicKey)).toMatchObject({
      removed: false,
      refusal: { error: "DeviceTooYoung" },
      keys: [delayed],
      done: false,
    });
  });

  it("keeps the id of a transaction of which the chain says nothing yet", async () => {
    const { chain, revoke } = setUp({ keys: [keyOf(lost.publicKey)] });
    const waitForSeal = () => Promise.reject(new DOMException("too late", "TimeoutError"));
    const { keys, done } = await revoke(lost.publicKey, { accessApi: chain.access({ waitForSeal }) });
    expect(keys).toMatchObject([{ state: "pending", transactionId: chain.ran[0], error: { name: "TimeoutError" } }]);
    expect(done).toBe(false);
    expect(await revoke(lost.publicKey)).toMatchObject({ done: true });
    expect(chain.ran).toHaveLength(1);
  });

  it.each(["AccountFrozen", "SigningRefused"])("says why nothing is under way: %s", async (error) => {
    const { revoke } = setUp({ keys: [keyOf(lost.publicKey)], sign: { status: 403, error } });
    const answer = { removed: true, keys: [{ state: "open", error: { error } }], done: false };
    expect(await revoke(lost.publicKey)).toMatchObject(answer);
  });

  it("rejects where it cannot go on at all", async () => {
    const keys = [keyOf(lost.publicKey)];
    const unknown = setUp({ keys, remove: { status: 404, error: "DeviceNotFound" } });
    await expect(unknown.revoke(lost.publicKey)).rejects.toMatchObject({ error: "DeviceNotFound" });
    expect(unknown.progress).toEqual([]);
    const old = setUp({ keys, sign: { status: 403, error: "LoginTooOld" } });
    await expect(old.revoke(lost.publicKey)).rejects.toMatchObject({ error: "LoginTooOld" });
    const over = setUp({ keys, sign: { status: 401, error: "SessionEnded" } });
    await expect(over.revoke(lost.publicKey)).rejects.toMatchObject({ error: "SessionEnded" });
    const aborted = setUp({ keys });
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(aborted.revoke(lost.publicKey, { signal })).rejects.toThrow("enough");
    const self = setUp({ keys });
    await expect(self.revoke(own.publicKey)).rejects.toThrow("another device");
    expect(self.asked).toEqual([]);
  });
});

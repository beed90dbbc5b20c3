import { decodeMessage, readAddUserKey } from "@countersign/flow";
import { generateKeyPair } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import { address, key, signal } from "../../testing/chain-account.ts";
import { chain, newDevice, options, prepare, target, world } from "../../testing/key-additions.ts";
import { prepareKeyAddition } from "./prepare-key-addition.ts";

describe("the prepared message", () => {
  it("adds that key to that account, proposed by the server key, paid by the paymaster", async () => {
    const decoded = decodeMessage(await prepare());
    expect(readAddUserKey(decoded)).toEqual(newDevice);
    expect(decoded).toMatchObject({
      kind: "payload",
      authorizers: [address],
      payer: chain.paymaster,
      proposalKey: { address, keyId: 0, sequenceNumber: 5n },
    });
  });

  it("stays while the chain would take it, and is renewed after that", async () => {
    const first = await prepare();
    world.height += 300;
    expect(await prepare(first)).toEqual(first);
    world.height += 1;
    expect(await prepare(first)).not.toEqual(first);
    world.height = 1000;
    world.keys = [{ ...world.keys[0]!, sequenceNumber: 6n }, world.keys[1]!];
    expect(decodeMessage(await prepare(first)).proposalKey.sequenceNumber).toBe(6n);
  });

  it("is renewed where its reference block is not known", async () => {
    const first = await prepare();
    world.height += 1;
    const chains = new Map([[chain.chainName, { ...chain, blockHeight: async () => undefined }]]);
    expect(await prepareKeyAddition({ ...options, chains })(target, first, signal)).not.toEqual(first);
  });

  it("is never another account's, with any current message", async () => {
    const foreign = { ...target, userKey: generateKeyPair().publicKey };
    const other = await prepareKeyAddition(options)(foreign, new Uint8Array(), signal);
    expect(readAddUserKey(decodeMessage(await prepare(other)))).toEqual(newDevice);
    expect(readAddUserKey(decodeMessage(await prepare(Buffer.from("garbage"))))).toEqual(newDevice);
  });

  it("is refused once the account has its most user keys: others and revoked ones do not count", async () => {
    const others = [key(2, "11".repeat(64), { weight: 1000 }), key(3, "22".repeat(64), { hashAlgorithm: "SHA3_256" })];
    world.keys = [...world.keys, ...others, key(4, "33".repeat(64), { revoked: true }), key(5, "44".repeat(64))];
    const current = await prepare();
    world.keys = [...world.keys, key(6, "55".repeat(64))];
    await expect(prepare()).rejects.toMatchObject({ reason: "TooManyKeys" });
    await expect(prepare(current)).rejects.toMatchObject({ reason: "TooManyKeys" });
  });

  it("is prepared for a recovery key however many keys there are: a thief's device may have added them", async () => {
    world.keys = [...world.keys, key(2, "11".repeat(64)), key(3, "22".repeat(64))];
    await expect(prepare()).rejects.toMatchObject({ reason: "TooManyKeys" });
    await prepareKeyAddition(options)({ ...target, recovering: true }, new Uint8Array(), signal);
  });

  it("is refused for keys that the chain cannot carry", async () => {
    const userKey = generateKeyPair("EdDSA").publicKey;
    const work = prepareKeyAddition(options)({ ...target, userKey }, new Uint8Array(), signal);
    await expect(work).rejects.toMatchObject({ reason: "UnsupportedKey" });
  });
});

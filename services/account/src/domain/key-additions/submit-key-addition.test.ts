import { decodeMessage, envelopeMessage, passkeySignature, payloadMessage } from "@countersign/flow";
import { challengeOf, type PublicKey } from "@countersign/keys";
import { generateKeyPair, verifySignature } from "@countersign/keys/node";
import { type Said, simulatedPasskey } from "@countersign/keys/testing";
import { describe, expect, it } from "vitest";
import { address, key } from "../../testing/chain-account.ts";
import {
  approver,
  attemptId,
  chain,
  newDevice,
  options,
  plain,
  prepare,
  reconcile,
  submit,
  world,
} from "../../testing/key-additions.ts";

const elsewhere = "179b6b1cb6755e31";
/** Returns the prepared message with a change, and the approver's signature over it. */
async function changed(change: object) {
  const message = payloadMessage({ ...decodeMessage(await prepare()), ...change });
  return { message, signature: plain(approver.privateKey, message) };
}

describe("submitting", () => {
  it("commits what all three signed, and submits it", async () => {
    const { transaction, transactionId, state } = await submit();
    expect(state).toBe("submitted");
    expect(world.submitted).toEqual([transactionId]);
    expect(transaction!.payloadSignatures.map(({ keyId }) => keyId)).toEqual([0, 1]);
    const approval = Buffer.from(transaction!.payloadSignatures[1]!.signature, "hex");
    expect(verifySignature(approver.publicKey, payloadMessage(transaction!), approval)).toBe(true);
    expect(decodeMessage(envelopeMessage(transaction!)).payloadSignatures).toHaveLength(2);
  });

  it("takes what a passkey signed, with its extension data", async () => {
    const by = async (said: Said = {}) =>
      passkeySignature(simulatedPasskey(approver).assert(challengeOf({ transaction: await prepare() }), said));
    for (const refused of [
      { signature: await by({ flags: 0x19 }) },
      { signature: await by({ rpId: "evil.example" }) },
      { signature: { signature: (await by()).signature } },
      { signature: await by(), appId: "another" },
    ]) {
      await expect(submit(refused)).rejects.toMatchObject({ reason: "InvalidSignature" });
    }
    expect(world.signatures).toBe(0);
    const signature = await by();
    const { transaction } = await submit({ signature });
    expect(transaction!.payloadSignatures[1]).toEqual({ address, keyId: 1, ...signature });
  });

  it("signs nothing when it is asked again", async () => {
    const first = await submit();
    expect((await submit()).transactionId).toBe(first.transactionId);
    expect(world.signatures).toBe(2);
  });

  it("returns no other account's attempt", async () => {
    const row = await submit();
    world.rows.set(attemptId, { ...row, accountId: "01900000-0000-7000-8000-0000000000ff" });
    await expect(submit()).rejects.toMatchObject({ reason: "TwoFactorAuthNotPending" });
  });

  it("keeps one of two that race, and submits no other", async () => {
    const [one, other] = await Promise.all([submit(), submit()]);
    expect(world.signatures).toBe(4);
    expect(one!.transactionId).toBe(other!.transactionId);
    expect(world.rows.size).toBe(1);
    expect(new Set(world.submitted)).toEqual(new Set([one!.transactionId]));
  });

  it("submits nothing of an attempt that is abandoned meanwhile", async () => {
    const signPaymaster: typeof options.signer.signPaymaster = async () => {
      await reconcile();
      return options.signer.signPaymaster();
    };
    const submitting = submit({}, { ...options, signer: { ...options.signer, signPaymaster } });
    await expect(submitting).rejects.toMatchObject({ reason: "TwoFactorAuthNotPending" });
    expect(world.submitted).toEqual([]);
  });

  it("takes a recovery key's approval, and what a rotated server key proposes", async () => {
    const recovery = generateKeyPair();
    const [server, user] = world.keys;
    const rotated = { ...server!, index: 3, sequenceNumber: 8n };
    const recoveryKey = key(2, recovery.publicKey.publicKey, { weight: 999 });
    world.keys = [{ ...server!, revoked: true }, user!, recoveryKey, rotated];
    const message = await prepare();
    const signature = plain(recovery.privateKey, message);
    const { transaction } = await submit({ message, signature, approverKey: recovery.publicKey });
    expect(transaction).toMatchObject({ proposalKey: { keyId: 3, sequenceNumber: 8n } });
    expect(transaction!.payloadSignatures[1]).toMatchObject({ keyId: 2 });
  });

  it.each<[string, () => Promise<object> | object, string]>([
    [
      "another's signature",
      async () => ({ signature: plain(generateKeyPair().privateKey, await prepare()) }),
      "InvalidSignature",
    ],
    ["a key that is not the account's", () => ({ approverKey: generateKeyPair().publicKey }), "InvalidSignature"],
    [
      "the server key as approver",
      (): { approverKey: PublicKey } => ({ approverKey: { algorithm: "ES256", publicKey: "cd".repeat(64) } }),
      "InvalidSignature",
    ],
    ["another key's message", () => ({ userKey: generateKeyPair().publicKey }), "InvalidMessage"],
    ["its bytes under another algorithm", () => ({ userKey: { ...newDevice, algorithm: "ES256K" } }), "InvalidMessage"],
    ["another account's message", () => changed({ authorizers: [elsewhere] }), "InvalidMessage"],
    ["a message of two accounts", () => changed({ authorizers: [address, elsewhere] }), "InvalidMessage"],
    [
      "another proposer",
      () => changed({ proposalKey: { address: elsewhere, keyId: 0, sequenceNumber: 5n } }),
      "InvalidMessage",
    ],
    [
      "an envelope",
      async () => {
        const unsigned = { ...decodeMessage(await prepare()), payloadSignatures: [] };
        const message = envelopeMessage(unsigned);
        return { message, signature: plain(approver.privateKey, message) };
      },
      "InvalidMessage",
    ],
    ["bytes that are no message", () => ({ message: Buffer.from("00", "hex") }), "InvalidMessage"],
  ])("refuses %s", async (_, change, reason) => {
    await expect(submit(await change())).rejects.toMatchObject({ reason });
    expect(world.signatures).toBe(0);
    expect(world.rows.size).toBe(0);
  });

  it("refuses a message whose sequence number is over", async () => {
    const message = await prepare();
    world.keys = [{ ...world.keys[0]!, sequenceNumber: 6n }, world.keys[1]!];
    const signature = plain(approver.privateKey, message);
    await expect(submit({ message, signature })).rejects.toMatchObject({ reason: "MessageRenewed" });
  });

  it("refuses a message that would be too old before it is sealed, or whose block is not known", async () => {
    const message = await prepare();
    const signature = plain(approver.privateKey, message);
    world.height += 551;
    await expect(submit({ message, signature })).rejects.toMatchObject({ reason: "MessageRenewed" });
    world.height -= 1;
    const chains = new Map([[chain.chainName, { ...chain, blockHeight: async () => undefined }]]);
    const unknown = submit({ message, signature }, { ...options, chains });
    await expect(unknown).rejects.toMatchObject({ reason: "MessageRenewed" });
    expect(await submit({ message, signature })).toMatchObject({ state: "submitted" });
  });

  it("puts no key on an account that has its most", async () => {
    const message = await prepare();
    const signature = plain(approver.privateKey, message);
    world.keys = [...world.keys, key(2, "11".repeat(64)), key(3, "22".repeat(64))];
    await expect(submit({ message, signature })).rejects.toMatchObject({ reason: "TooManyKeys" });
    expect(world.signatures).toBe(0);
    const recovery = generateKeyPair();
    world.keys = [...world.keys, key(4, recovery.publicKey.publicKey, { weight: 999 })];
    const byRecovery = { approverKey: recovery.publicKey, signature: plain(recovery.privateKey, message) };
    expect(await submit({ message, ...byRecovery })).toMatchObject({ state: "submitted" });
  });

  it("refuses an approver whose key was revoked", async () => {
    world.keys = [world.keys[0]!, { ...world.keys[1]!, revoked: true }];
    await expect(submit()).rejects.toMatchObject({ reason: "InvalidSignature" });
  });
});

import type { TwoFactorRequested } from "@countersign/client";
import type { NodeDeviceKey } from "@countersign/client/node";
import {
  decodeMessage,
  envelopeMessage,
  type FlowTransaction,
  type KeyChange,
  payloadMessage,
  type TransactionPayload,
  type TransactionSignature,
} from "@countersign/flow";
import { bytesToHex, hexToBytes } from "@countersign/keys";
import { describe, expect, it } from "vitest";
import { keyChangePayload } from "../faults/key-change.ts";
import { query } from "../security/token-forge.ts";
import {
  access,
  chainName,
  logIn,
  newPhone,
  type Person,
  payloadOf,
  pollOptions,
  problemOf,
  secondPhone,
  signUpPerson,
  stack,
  tokenOf,
} from "../support/person.ts";
import { call } from "../support/raw-request.ts";
import { addedAgo, change } from "./key-changes.ts";

const ask = (operation: "transaction" | "paymaster", token: string, message: Uint8Array) =>
  call("POST", `/sign/v1/cadence/${operation}`, { token, body: { message: bytesToHex(message), chainName } });

/** Returns the index of a key on chain. */
async function indexOf({ address }: Person, { publicKey }: NodeDeviceKey): Promise<number> {
  const keys = await access.accountKeys(address);
  return keys.find((key) => key.publicKey === publicKey && !key.revoked)!.index;
}

describe("a thief's device that its owner has approved by mistake", () => {
  async function robbed() {
    const owner = await signUpPerson();
    const thief = await secondPhone(owner);
    await addedAgo(owner, "0");
    const lockOut: KeyChange = { template: "revoke-user-key", oldKey: owner.deviceKey.publicKey };
    return { owner, thief, lockOut };
  }

  it("does not revoke its owner's key: that waits, the owner sees and cancels it, and revokes the thief's at once", async () => {
    const { owner, thief, lockOut } = await robbed();
    expect(await problemOf(change(thief, lockOut))).toMatchObject({ status: 403, error: "TimeLockRequired" });
    const [lock] = await owner.client.timeLocks();
    expect(lock).toMatchObject({ operation: "revoke-user-key", chainName, cancelledAt: "" });
    await change(owner, { template: "revoke-user-key", oldKey: thief.deviceKey.publicKey });
    expect(await indexOf(owner, owner.deviceKey)).toBe(1);
    expect((await access.accountKeys(owner.address)).map(({ revoked }) => revoked)).toEqual([false, false, true]);
  });

  it("cannot circumvent it: the paymaster, an envelope that the account pays itself, a request that was cancelled", async () => {
    const { owner, thief, lockOut } = await robbed();
    const payload = await keyChangePayload(stack, owner.address, lockOut, 0n);
    const own: TransactionPayload = { ...payload, payer: owner.address };
    const message = payloadMessage(payload);
    const signature = bytesToHex(await thief.deviceKey.sign(message));
    const keyId = await indexOf(owner, thief.deviceKey);
    const payloadSignatures = [{ address: owner.address, keyId, signature }];
    const delayed = { status: 403, body: { error: "TimeLockRequired", availableAt: expect.stringMatching(/Z$/) } };
    const token = tokenOf(thief);
    expect(await ask("transaction", token, message)).toMatchObject(delayed);
    for (const paidByAccount of [payloadMessage(own), envelopeMessage({ ...own, payloadSignatures: [] })])
      expect((await ask("transaction", token, paidByAccount)).body).toMatchObject({ reason: "UnknownPayer" });
    expect(await ask("paymaster", token, envelopeMessage({ ...payload, payloadSignatures }))).toMatchObject(delayed);

    const [lock] = await owner.client.timeLocks();
    await owner.client.cancelTimeLock(lock!.id);
    expect(await problemOf(change(thief, lockOut))).toMatchObject({ status: 403, error: "TimeLockCancelled" });
  });

  it("does not keep its key by using up what the account may have signed and not sent", async () => {
    const { owner, thief } = await robbed();
    const keyId = await indexOf(owner, thief.deviceKey);
    const payload = { ...decodeMessage(await payloadOf(owner)), gasLimit: 9999n };
    const hoard = async (sequenceNumber: bigint): Promise<unknown> => {
      const one = { ...payload, proposalKey: { address: owner.address, keyId, sequenceNumber } };
      const signature = bytesToHex(await thief.deviceKey.sign(payloadMessage(one)));
      const payloadSignatures = [{ address: owner.address, keyId, signature }];
      const { status, body } = await ask("paymaster", tokenOf(thief), envelopeMessage({ ...one, payloadSignatures }));
      return status === 200 ? hoard(sequenceNumber + 1n) : body.reason;
    };
    expect(await hoard(0n)).toBe("BudgetExceeded");
    await change(owner, { template: "revoke-user-key", oldKey: thief.deviceKey.publicKey });
    expect((await access.accountKeys(owner.address))[keyId]).toMatchObject({ revoked: true });
  });

  it("an honest device does it once it is old enough", async () => {
    const { owner, thief: honest, lockOut } = await robbed();
    await addedAgo(owner, "1 day");
    await change(honest, lockOut);
    await expect.poll(() => owner.client.me().catch(({ error }) => error), pollOptions).toBe("SessionEnded");
  });
});

describe("a device that was removed", () => {
  type Signature = Pick<TransactionSignature, "signature" | "extensionData">;

  /** Requests the enrollment of a thief's device; the service has signed the addition of its key. */
  async function intruder({ email }: Person): Promise<{ asked: TwoFactorRequested; unsigned: FlowTransaction }> {
    const asked = await newPhone().client.requestTwoFactor({ login: await logIn(email), chainName });
    const message = hexToBytes(asked.twoFactorAuth.request.message);
    const { body } = await ask("transaction", asked.ephemeralAccessToken, message);
    const { addr, keyId, signature } = body.signature;
    const server = { address: addr.replace("0x", ""), keyId, signature };
    const unsigned = { ...decodeMessage(message), payloadSignatures: [server], envelopeSignatures: [] };
    return { asked, unsigned };
  }

  it("approves nobody: the paymaster takes the signature of its blocked key in no form, and that of a device", async () => {
    const owner = await signUpPerson();
    const removed = await secondPhone(owner);
    const [{ asked, unsigned }, keyId, ownIndex] = await Promise.all([
      intruder(owner),
      indexOf(owner, removed.deviceKey),
      indexOf(owner, owner.deviceKey),
    ]);
    const token = asked.ephemeralAccessToken;
    const message = payloadMessage(unsigned);
    const pay = async (index: number, by: Signature) => {
      const approval = { address: owner.address, keyId: index, ...by };
      const payloadSignatures = [...unsigned.payloadSignatures, approval];
      const { status, body } = await ask("paymaster", token, envelopeMessage({ ...unsigned, payloadSignatures }));
      return status === 200 ? "signed" : body.reason;
    };
    await owner.client.removeDevice(removed.deviceKey.publicKey);
    // The signer learns of the removal within two seconds.
    await expect.poll(async () => (await ask("transaction", tokenOf(removed), message)).status, pollOptions).toBe(401);

    expect(await access.accountKey(owner.address, keyId), "still on chain").toMatchObject({ revoked: false });
    const signature = bytesToHex(await removed.deviceKey.sign(message));
    expect(await pay(keyId, { signature })).toBe("BlockedKey");
    expect(await pay(keyId, { signature, extensionData: "02" })).toBe("BlockedKey");
    const unknown = newPhone().deviceKey;
    expect(await pay(keyId, { signature: bytesToHex(await unknown.sign(message)) })).toBe("UserSignatureInvalid");
    expect(await pay(ownIndex, { signature: bytesToHex(await owner.deviceKey.sign(message)) })).toBe("signed");
  });

  it("approves nobody, also long after the services have forgotten its removal: the signer asks auth", async () => {
    const owner = await signUpPerson();
    // The state two hours after a removal: the block is in auth's table and nowhere else.
    await query("auth", "INSERT INTO blocked_key (account_id, algorithm, public_key) VALUES ($1, 'ES256', $2)", [
      owner.signedUp.account.id,
      owner.deviceKey.publicKey,
    ]);
    const [{ asked, unsigned }, keyId] = await Promise.all([intruder(owner), indexOf(owner, owner.deviceKey)]);
    const signature = bytesToHex(await owner.deviceKey.sign(payloadMessage(unsigned)));
    const payloadSignatures = [...unsigned.payloadSignatures, { address: owner.address, keyId, signature }];
    const envelope = envelopeMessage({ ...unsigned, payloadSignatures });
    expect((await ask("paymaster", asked.ephemeralAccessToken, envelope)).body).toMatchObject({ reason: "BlockedKey" });
  });
});

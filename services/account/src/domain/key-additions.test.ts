import { decodeMessage, envelopeMessage, passkeySignature, payloadMessage, readAddUserKey } from "@countersign/flow";
import { bytesToHex, challengeOf, type PublicKey } from "@countersign/keys";
import { generateKeyPair, type KeyPair, signMessage, verifySignature } from "@countersign/keys/node";
import { type Said, simulatedPasskey, TEST_RELYING_PARTY } from "@countersign/keys/testing";
import { FixedClock } from "@countersign/service-kit";
import { beforeEach, describe, expect, it } from "vitest";
import type {
  AccountKey,
  KeyAddition,
  KeyAdditionChain,
  KeyAdditionEvent,
  KeyAdditionOutcome,
  KeyAdditionStore,
} from "./key-addition.ts";
import { prepareKeyAddition } from "./prepare-key-addition.ts";
import { settleKeyAddition } from "./settle-key-addition.ts";
import { submitKeyAddition } from "./submit-key-addition.ts";
import { verifyKeyAddition } from "./verify-key-addition.ts";

const chainName = "flow-emulator";
const accountId = "01900000-0000-7000-8000-000000000001";
const attemptId = "01900000-0000-7000-8000-00000000000a";
const address = "01cf0e2f2f715450";
const signal = new AbortController().signal;
const approver = generateKeyPair();
const newcomer = generateKeyPair().publicKey;
const target = { accountId, chainName, userKey: newcomer };
const block = (height: number) => height.toString(16).padStart(64, "0");

const key = (index: number, publicKey: string, change: Partial<AccountKey> = {}): AccountKey => ({
  index,
  publicKey,
  weight: 1,
  signatureAlgorithm: "ECDSA_P256",
  hashAlgorithm: "SHA2_256",
  sequenceNumber: 0n,
  revoked: false,
  ...change,
});

let height: number;
let keys: AccountKey[];
let outcome: KeyAdditionOutcome;
let submitted: number;
let signatures: number;
let rows: Map<string, KeyAddition>;

const chain: KeyAdditionChain = {
  chainName,
  paymaster: "f3fcd2c1a78f5eee",
  maxReferenceAge: 650n,
  latestBlock: async () => ({ id: block(height), height: BigInt(height) }),
  blockHeight: async (id) => BigInt(`0x${id}`),
  accountKeys: async () => keys,
  submit: async () => {
    submitted += 1;
  },
  keyAdditionOutcome: async () => outcome,
};
const additions: KeyAdditionStore = {
  find: async (id) => rows.get(id),
  async commit(addition) {
    if (!rows.has(addition.attemptId)) rows.set(addition.attemptId, addition);
    return rows.get(addition.attemptId)!;
  },
  async finish(id, end) {
    rows.set(id, { ...rows.get(id)!, ...end });
  },
};
const composite = (keyId: number) => async () => {
  signatures += 1;
  return { address: keyId === 0 ? address : chain.paymaster, keyId, signature: "ab".repeat(64) };
};
const account = { id: accountId, profileImageUrl: "", createdAt: new Date(), updatedAt: new Date() };
const options = {
  accounts: {
    find: async () => ({
      account: {
        ...account,
        parents: [],
        addresses: [{ chainName, chainType: "cadence" as const, address, chainId: 646 }],
      },
      deployment: undefined,
    }),
  },
  chains: new Map([[chainName, chain]]),
  additions,
  signer: { signTransaction: composite(0), signPaymaster: composite(0) },
  passkeys: { relyingPartiesOf: (appId: string) => (appId === "demo" ? [TEST_RELYING_PARTY] : []) },
  maxUserKeys: 3,
  clock: new FixedClock(),
  logger: { warn: () => undefined },
};
const prepare = (current: Uint8Array = new Uint8Array()) => prepareKeyAddition(options)(target, current, signal);
const plain = (privateKey: KeyPair["privateKey"], message: Uint8Array) => ({
  signature: bytesToHex(signMessage(privateKey, message)),
});
const submit = async (change: object = {}) => {
  const message = await prepare();
  const signature = plain(approver.privateKey, message);
  const command = {
    appId: "demo",
    ...target,
    attemptId,
    message,
    approverKey: approver.publicKey,
    signature,
    ...change,
  };
  return submitKeyAddition(options)(command, {}, signal);
};
const settle = (of = accountId) => settleKeyAddition(options)(attemptId, of, signal);

beforeEach(() => {
  height = 1000;
  keys = [
    key(0, "cd".repeat(64), { weight: 999, hashAlgorithm: "SHA3_256", sequenceNumber: 5n }),
    key(1, approver.publicKey.publicKey),
  ];
  outcome = { status: "unknown", events: [] };
  submitted = 0;
  signatures = 0;
  rows = new Map();
});

describe("the prepared message", () => {
  it("adds that key to that account, proposed by the server key, paid by the paymaster", async () => {
    const decoded = decodeMessage(await prepare());
    expect(readAddUserKey(decoded)).toEqual(newcomer);
    expect(decoded).toMatchObject({
      kind: "payload",
      authorizers: [address],
      payer: chain.paymaster,
      proposalKey: { address, keyId: 0, sequenceNumber: 5n },
    });
  });

  it("stays while the chain would take it, and is renewed after that", async () => {
    const first = await prepare();
    height += 300;
    expect(await prepare(first)).toEqual(first);
    height += 1;
    expect(await prepare(first)).not.toEqual(first);
    height = 1000;
    keys = [{ ...keys[0]!, sequenceNumber: 6n }, keys[1]!];
    expect(decodeMessage(await prepare(first)).proposalKey.sequenceNumber).toBe(6n);
  });

  it("is never somebody else's, whatever was sent as the current one", async () => {
    const foreign = { ...target, userKey: generateKeyPair().publicKey };
    const other = await prepareKeyAddition(options)(foreign, new Uint8Array(), signal);
    expect(readAddUserKey(decodeMessage(await prepare(other)))).toEqual(newcomer);
    expect(readAddUserKey(decodeMessage(await prepare(Buffer.from("garbage"))))).toEqual(newcomer);
  });

  it("is refused once the account has its most user keys: others and revoked ones do not count", async () => {
    const others = [key(2, "11".repeat(64), { weight: 1000 }), key(3, "22".repeat(64), { hashAlgorithm: "SHA3_256" })];
    keys = [...keys, ...others, key(4, "33".repeat(64), { revoked: true }), key(5, "44".repeat(64))];
    const current = await prepare();
    keys = [...keys, key(6, "55".repeat(64))];
    await expect(prepare()).rejects.toMatchObject({ reason: "TooManyKeys" });
    await expect(prepare(current)).rejects.toMatchObject({ reason: "TooManyKeys" });
  });

  it("is refused for keys that the chain cannot carry", async () => {
    const userKey = generateKeyPair("EdDSA").publicKey;
    const work = prepareKeyAddition(options)({ ...target, userKey }, new Uint8Array(), signal);
    await expect(work).rejects.toMatchObject({ reason: "UnsupportedKey" });
  });
});

describe("submitting", () => {
  it("commits what all three signed, and submits it", async () => {
    const { transaction, state } = await submit();
    expect(state).toBe("submitted");
    expect(submitted).toBe(1);
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
    expect(signatures).toBe(0);
    const signature = await by();
    const { transaction } = await submit({ signature });
    expect(transaction!.payloadSignatures[1]).toEqual({ address, keyId: 1, ...signature });
  });

  it("signs nothing when it is asked again", async () => {
    const first = await submit();
    expect((await submit()).transactionId).toBe(first.transactionId);
    expect(signatures).toBe(2);
  });

  it("keeps one of two that race", async () => {
    const [one, other] = await Promise.all([submit(), submit()]);
    expect(one!.transactionId).toBe(other!.transactionId);
    expect(rows.size).toBe(1);
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
    ["bytes that are no message", () => ({ message: Buffer.from("00", "hex") }), "InvalidMessage"],
  ])("refuses %s", async (_, change, reason) => {
    await expect(submit(await change())).rejects.toMatchObject({ reason });
    expect(signatures).toBe(0);
    expect(rows.size).toBe(0);
  });

  it("refuses a message whose sequence number is over", async () => {
    const message = await prepare();
    keys = [{ ...keys[0]!, sequenceNumber: 6n }, keys[1]!];
    const signature = plain(approver.privateKey, message);
    await expect(submit({ message, signature })).rejects.toMatchObject({ reason: "MessageRenewed" });
  });

  it("refuses a message that would be too old before it is sealed", async () => {
    const message = await prepare();
    const signature = plain(approver.privateKey, message);
    height += 551;
    await expect(submit({ message, signature })).rejects.toMatchObject({ reason: "MessageRenewed" });
    height -= 1;
    expect(await submit({ message, signature })).toMatchObject({ state: "submitted" });
  });

  it("puts no key on an account that has its most", async () => {
    const message = await prepare();
    const signature = plain(approver.privateKey, message);
    keys = [...keys, key(2, "11".repeat(64)), key(3, "22".repeat(64))];
    await expect(submit({ message, signature })).rejects.toMatchObject({ reason: "TooManyKeys" });
    expect(signatures).toBe(0);
  });

  it("refuses an approver whose key was revoked", async () => {
    keys = [keys[0]!, { ...keys[1]!, revoked: true }];
    await expect(submit()).rejects.toMatchObject({ reason: "InvalidSignature" });
  });
});

describe("settling", () => {
  it("closes an attempt that committed nothing, so that a late one cannot commit", async () => {
    expect(await settle()).toMatchObject({ state: "abandoned" });
    await expect(submit()).rejects.toMatchObject({ reason: "TwoFactorAuthNotPending" });
    expect(submitted).toBe(0);
  });

  it("submits the same bytes again while the chain does not know them", async () => {
    await submit();
    expect(await settle()).toMatchObject({ state: "submitted" });
    expect(submitted).toBe(2);
    expect(signatures).toBe(2);
  });

  it("goes by the key on the chain, and by nothing else", async () => {
    await submit();
    outcome = { status: "failed", events: [] };
    keys = [...keys, key(7, newcomer.publicKey)];
    expect(await settle()).toMatchObject({ state: "sealed", keyIndex: 7 });
    keys = keys.slice(0, 2);
    expect(await settle()).toMatchObject({ state: "sealed", keyIndex: 7 });
  });

  it.each<[string, Partial<KeyAdditionOutcome>, number]>([
    ["the chain refused it", { status: "failed" }, 0],
    ["it is too old to execute", { status: "unknown" }, 651],
    ["it expired", { status: "expired" }, 651],
  ])("fails where %s and the key is not there", async (_, change, blocks) => {
    await submit();
    outcome = { ...outcome, ...change };
    height += blocks;
    expect(await settle()).toMatchObject({ state: "failed" });
  });

  it("tells another account nothing", async () => {
    await submit();
    expect(await settle("01900000-0000-7000-8000-0000000000ff")).toBeUndefined();
  });
});

describe("a transaction that a client names", () => {
  const transactionId = "ef".repeat(32);
  const notBefore = new Date("2026-11-20T10:00:00.000Z");
  const added = (change: object = {}): KeyAdditionEvent => ({
    type: "flow.AccountKeyAdded",
    addedKey: { address, publicKey: newcomer.publicKey, keyIndex: 2, weight: 1, hashAlgorithm: 1, ...change },
  });
  const fees: KeyAdditionEvent = { type: "A.e5a8b7f23e8b548f.FlowFees.FeesDeducted" };
  let firstMessage: Uint8Array;
  const verify = () => verifyKeyAddition(options)({ ...target, transactionId, notBefore, firstMessage }, signal);

  beforeEach(async () => {
    firstMessage = await prepare();
    keys = [...keys, key(2, newcomer.publicKey)];
    outcome = { status: "sealed", height: 1001n, before: notBefore, events: [added(), fees] };
  });

  it("is taken when it did exactly that", async () => {
    expect(await verify()).toBe(2);
    outcome = { status: "sealed", height: 1001n, events: outcome.events };
    expect(await verify(), "in the youngest block").toBe(2);
  });

  it.each<[string, () => void]>([
    ["failed", () => (outcome = { status: "failed", events: [] })],
    ["is older than the request", () => (outcome = { ...outcome, before: new Date("2026-11-20T09:59:59.999Z") })],
    ["ran before the request's first message", () => (outcome = { ...outcome, height: 1000n })],
    ["is in no block that is known", () => (outcome = { status: "sealed", events: outcome.events })],
    ["added another key", () => (outcome = { ...outcome, events: [added({ publicKey: "ee".repeat(64) })] })],
    ["added it elsewhere", () => (outcome = { ...outcome, events: [added({ address: "179b6b1cb6755e31" })] })],
    ["added it with another weight", () => (outcome = { ...outcome, events: [added({ weight: 1000 })] })],
    ["added it with another hash", () => (outcome = { ...outcome, events: [added({ hashAlgorithm: 3 })] })],
    ["added it twice", () => (outcome = { ...outcome, events: [added(), added({ keyIndex: 3 })] })],
    ["removed a key too", () => (outcome = { ...outcome, events: [added(), { type: "flow.AccountKeyRemoved" }] })],
    ["set a contract too", () => (outcome = { ...outcome, events: [added(), { type: "flow.AccountContractAdded" }] })],
    [
      "gave a capability out",
      () => (outcome = { ...outcome, events: [added(), { type: "flow.InboxValuePublished" }] }),
    ],
    ["did nothing", () => (outcome = { ...outcome, events: [fees] })],
    ["added it, and it is revoked", () => (keys = keys.map((each) => ({ ...each, revoked: each.index === 2 })))],
    ["added it, and it stands elsewhere now", () => (keys = [...keys.slice(0, 2), key(3, newcomer.publicKey)])],
  ])("is not when it %s", async (_, change) => {
    change();
    await expect(verify()).rejects.toMatchObject({ reason: "TransactionMismatch" });
  });

  it.each(["unknown", "pending"] as const)("may be asked for again while it is %s", async (status) => {
    outcome = { status, events: [] };
    await expect(verify()).rejects.toMatchObject({ reason: "TransactionPending", retryAfterSeconds: 1 });
  });
});

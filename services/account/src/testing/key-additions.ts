import { FixedClock } from "@countersign/core/testing";
import { transactionId } from "@countersign/flow";
import { bytesToHex } from "@countersign/keys";
import { generateKeyPair, type KeyPair, signMessage } from "@countersign/keys/node";
import { TEST_RELYING_PARTY } from "@countersign/keys/testing";
import { beforeEach } from "vitest";
import type {
  AccountKey,
  KeyAddition,
  KeyAdditionChain,
  KeyAdditionOutcome,
  KeyAdditionStore,
} from "../domain/key-additions/key-addition.ts";
import { prepareKeyAddition } from "../domain/key-additions/prepare-key-addition.ts";
import { reconcileKeyAddition } from "../domain/key-additions/reconcile-key-addition.ts";
import { type SubmitKeyAdditionOptions, submitKeyAddition } from "../domain/key-additions/submit-key-addition.ts";
import {
  accountId,
  accounts,
  address,
  block,
  chainName,
  key,
  paymaster,
  serverKeyAt,
  signal,
} from "./chain-account.ts";

export const attemptId = "01900000-0000-7000-8000-00000000000a";
export const approver = generateKeyPair();
export const newDevice = generateKeyPair().publicKey;
export const target = { accountId, chainName, userKey: newDevice, recovering: false };

/** The state of the chain and the store, and the calls that were made; new for each test. */
export const world = {
  height: 0,
  keys: [] as AccountKey[],
  /** The blocks that added keys later, by index. */
  addedAt: new Map<number, bigint>(),
  outcome: { status: "unknown", events: [] } as KeyAdditionOutcome,
  /** The ids of the submitted transactions. */
  submitted: [] as string[],
  signatures: 0,
  rows: new Map<string, KeyAddition>(),
};

export const chain: KeyAdditionChain = {
  chainName,
  paymaster,
  maxReferenceAge: 650n,
  latestBlock: async () => ({ id: block(world.height), height: BigInt(world.height) }),
  blockHeight: async (id) => BigInt(`0x${id}`),
  accountKeys: async (_address, _signal, height = BigInt(world.height)) =>
    world.keys.filter(({ index }) => height >= (world.addedAt.get(index) ?? 0n)),
  submit: async (transaction) => void world.submitted.push(transactionId(transaction)),
  keyAdditionOutcome: async () => world.outcome,
};
export const additions: KeyAdditionStore = {
  find: async (id) => world.rows.get(id),
  async commit(addition) {
    if (!world.rows.has(addition.attemptId)) world.rows.set(addition.attemptId, addition);
    return world.rows.get(addition.attemptId)!;
  },
  async finish(id, end) {
    world.rows.set(id, { ...world.rows.get(id)!, ...end });
  },
};
const composite = (keyId: number) => async () => {
  world.signatures += 1;
  const signature = world.signatures.toString(16).padStart(128, "0");
  return { address: keyId === 0 ? address : paymaster, keyId, signature };
};
export const options = {
  accounts,
  chains: new Map([[chainName, chain]]),
  additions,
  signer: { signTransaction: composite(0), signPaymaster: composite(0) },
  passkeys: { relyingPartiesOf: (appId: string) => (appId === "demo" ? [TEST_RELYING_PARTY] : []) },
  maxUserKeys: 3,
  clock: new FixedClock(),
  logger: { warn: () => undefined },
};
export const prepare = (current: Uint8Array = new Uint8Array()) => prepareKeyAddition(options)(target, current, signal);
export const plain = (privateKey: KeyPair["privateKey"], message: Uint8Array) => ({
  signature: bytesToHex(signMessage(privateKey, message)),
});
export const submit = async (change: object = {}, using: SubmitKeyAdditionOptions = options) => {
  // Preparing refuses too: a message that is given was prepared before.
  const message = "message" in change ? (change.message as Uint8Array) : await prepare();
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
  return submitKeyAddition(using)(command, {}, signal);
};
export const reconcile = (of = accountId) => reconcileKeyAddition(options)(attemptId, of, signal);

beforeEach(() => {
  world.height = 1000;
  world.keys = [serverKeyAt(0, "cd".repeat(64)), key(1, approver.publicKey.publicKey)];
  world.addedAt = new Map();
  world.outcome = { status: "unknown", events: [] };
  world.submitted = [];
  world.signatures = 0;
  world.rows = new Map();
});

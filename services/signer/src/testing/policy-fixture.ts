import { randomBytes } from "node:crypto";
import { uuidv7, type VerifiedToken } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { type FlowTransaction, passkeySignature, payloadMessage } from "@countersign/flow";
import { withPayloadSignature } from "@countersign/flow/node";
import { challengeOf, type PublicKey } from "@countersign/keys";
import { generateKeyPair, verifySignature } from "@countersign/keys/node";
import { type Said, simulatedPasskey, TEST_RELYING_PARTY } from "@countersign/keys/testing";
import { afterAll, beforeEach, expect } from "vitest";
import type { AuditEntry } from "../audit/record.ts";
import type { Reservation } from "../budget/budget.ts";
import { createReservationFor, createReservationForCreation } from "../budget/reservation.ts";
import { createDecide } from "../domain/decide.ts";
import type { BindingStore } from "../domain/ports.ts";
import { signCreation } from "../domain/sign-creation.ts";
import { signPaymaster } from "../domain/sign-paymaster.ts";
import { signTransaction } from "../domain/sign-transaction.ts";
import { startParserPool } from "../parser/parser-pool.ts";
import type { Binding } from "../policy/account.ts";
import type { ChainPolicy } from "../policy/chain.ts";
import { DEFAULT_POLICY, type Policy } from "../policy/policy.ts";
import { createKnownScripts } from "../policy/script/known-scripts.ts";
import { createKeystoreVault, type KeyReference } from "../vault/index.ts";
import { memoryAddedKeys } from "./memory-added-keys.ts";
import { type MemoryStores, memoryEffects } from "./memory-effects.ts";
import { memoryRevokedKeys } from "./memory-revoked-keys.ts";
import { memorySignedCreations } from "./memory-signed-creations.ts";
import { memorySignedTemplates } from "./memory-signed-templates.ts";
import { memoryRecoveryKeys, memoryTimeLocks } from "./memory-time-locks.ts";

export const hex = (bytes: number) => randomBytes(bytes).toString("hex");
export const P256_PRIME = 0xffffffff00000001000000000000000000000000ffffffffffffffffffffffffn;

export const chainName = "flow-emulator";
export const account: Binding = {
  accountId: "01900000-0000-7000-8000-000000000001",
  chainName,
  address: "01cf0e2f2f715450",
  serverKeyIndex: 0,
  serverKeyVersion: 1,
};
export const otherAddress = "179b6b1cb6755e31";
export const policy: ChainPolicy = {
  chainName,
  paymaster: { address: "f3fcd2c1a78f5eee", keyId: 0 },
  creator: { address: "e03daebed8ca0615", keyCount: 8 },
  evmContract: "f8d6e0586b0a20c7",
  hybridCustody: {
    contract: "f8d6e0586b0a20c7",
    viewResolver: "f8d6e0586b0a20c7",
    factory: "120e725050340cab",
    filter: "045a1763c93006ca",
  },
};
export const otherPaymaster = "0ae53cb6e3f42a79";

export const device = generateKeyPair();
export const token: VerifiedToken = {
  accountId: account.accountId,
  sessionId: "01900000-0000-7000-8000-000000000002",
  appId: "demo",
  scope: "full",
  deviceKey: device.publicKey,
  accountKey: device.publicKey,
  issuedAt: new Date(),
  expiresAt: new Date(),
};

export const scalar = () => [{ version: 1, scalar: `00${hex(31)}` }];
/** Returns a vault whose server keys were rotated twice: versions 1 to 3. */
export const vaultOfThreeVersions = () =>
  createKeystoreVault({
    rootSecret: hex(32),
    laterRoots: [2, 3].map((version) => ({ version, secret: hex(32) })),
    chains: { [chainName]: { creator: scalar(), paymaster: scalar() } },
  });
export const vault = createKeystoreVault({
  rootSecret: hex(32),
  chains: { [chainName]: { creator: scalar(), paymaster: scalar() } },
});

/** The facts that the rules saw and the effects that they left; new for each test. */
export const state: {
  records: AuditEntry[];
  reserved: Reservation[];
  bindings: Binding[];
  policy: Policy;
  blockedKeys: PublicKey[];
  unfrozenAt: Date | undefined;
} = {
  records: [],
  reserved: [],
  bindings: [],
  blockedKeys: [],
  unfrozenAt: undefined,
  policy: DEFAULT_POLICY,
};
const find: BindingStore["find"] = async (accountId) =>
  state.bindings.filter((binding) => binding.accountId === accountId);
export const store: BindingStore = {
  find,
  findCurrent: find,
  insert: async (binding) => binding,
  appendVersion: async () => state.bindings[0],
  moveVersion: async () => state.bindings[0],
  takeBackVersion: async () => state.bindings[0],
  bound: async (_, ids) => state.bindings.map(({ accountId }) => accountId).filter((id) => ids.includes(id)),
};
export const audit = {
  requireWithinLimit: () => () => undefined,
  noteRefusal: () => undefined,
  head: () => undefined,
  append: async (entry: AuditEntry, reservation?: Reservation) => {
    state.records.push(entry);
    if (reservation) state.reserved.push(reservation);
    return { chainId: "c", sequence: BigInt(state.records.length), hash: "" };
  },
};
export const policies = { current: (): Policy => state.policy };
export const decide = createDecide({
  vault,
  audit,
  clock: new FixedClock(),
  policies,
  recordedRefusalsPerMinute: 10_000,
});
export const chain = () => policy;
export const uses = new Map<string, number>();
export const ephemeralUses: MemoryStores["ephemeralUses"] = {
  async use({ sessionId, operation, limit }) {
    const count = (uses.get(sessionId + operation) ?? 0) + 1;
    if (count <= limit) uses.set(sessionId + operation, count);
    return count <= limit;
  },
};
const reader = await startParserPool({ workers: 1, timeLimitMs: 10_000 });
afterAll(() => reader.close());
export const scripts = createKnownScripts({ reader, clock: new FixedClock() });
export const TIME_LOCK_POLICY = {
  recoveryKeyMs: 72 * 3_600_000,
  youngAccountMs: 24 * 3_600_000,
  recoveredDeviceMs: 24 * 3_600_000,
  loginMaxAgeMs: 300_000,
  goodForMs: 24 * 3_600_000,
  contestMs: 30 * 24 * 3_600_000,
  youngDeviceMs: 24 * 3_600_000,
};
export const timeLocks = memoryTimeLocks();
export const recoveryKeys = memoryRecoveryKeys();
export const revokedKeys: ReturnType<typeof memoryRevokedKeys> = memoryRevokedKeys(() => addedKeys);
export const addedKeys = memoryAddedKeys(revokedKeys);
export const signedTemplates = memorySignedTemplates();
export const signedCreations = memorySignedCreations(addedKeys);
export const clock = new FixedClock();
export const stores: MemoryStores = {
  recoveryKeys,
  revokedKeys,
  signedTemplates,
  addedKeys,
  ephemeralUses,
  rotations: {
    begin: (version) => {
      state.bindings = state.bindings.map((binding) => ({ ...binding, rotatingTo: version }));
    },
  },
};
export const signing = {
  decide,
  checkBackend: () => undefined,
  bindings: store,
  vault,
  clock,
  chain,
  scripts,
  addedKeys,
  recoveryKeys,
  revokedKeys,
  unfrozenAt: () => state.unfrozenAt,
  blockedKeys: async (accountId: string) => (accountId === account.accountId ? state.blockedKeys : []),
  signedTemplates,
  effects: memoryEffects(stores),
  timeLocks,
  timeLockPolicy: TIME_LOCK_POLICY,
  newId: () => uuidv7(clock),
  reservationFor: createReservationFor(() => undefined, clock),
};
export const transaction = signTransaction(signing);
export const paymaster = signPaymaster({
  ...signing,
  paymasters: new Set([policy.paymaster.address, otherPaymaster]),
  passkeys: { relyingPartiesOf: (appId) => (appId === token.appId ? [TEST_RELYING_PARTY] : []) },
});
export const creation = signCreation({
  decide,
  bindings: store,
  signedCreations,
  vault,
  clock,
  chain,
  reservationForCreation: createReservationForCreation(clock),
});

beforeEach(async () => {
  state.records = [];
  state.blockedKeys = [];
  state.unfrozenAt = undefined;
  state.reserved = [];
  state.bindings = [account];
  state.policy = DEFAULT_POLICY;
  uses.clear();
  timeLocks.clear();
  recoveryKeys.clear();
  revokedKeys.clear();
  signedTemplates.clear();
  signedCreations.clear();
  // The device's key is the creation's, unless a test says otherwise.
  addedKeys.clear();
  await addedKeys.recordCreation([device.publicKey], new Date(clock.now().getTime() - 8760 * 3_600_000));
});

export const tx = (change: Partial<FlowTransaction> = {}): FlowTransaction => ({
  script: "transaction { prepare(a: &Account) {} }",
  arguments: [],
  referenceBlockId: "ab".repeat(32),
  gasLimit: 999n,
  proposalKey: { address: account.address, keyId: 1, sequenceNumber: 7n },
  payer: policy.paymaster.address,
  authorizers: [account.address],
  payloadSignatures: [],
  envelopeSignatures: [],
  ...change,
});
export const byDevice = (change: Partial<FlowTransaction> = {}, by = device, keyId = 1, address = account.address) =>
  withPayloadSignature(tx(change), { address, keyId, privateKey: by.privateKey, hash: "sha256" });
/** Signed by a passkey; what it says of itself, and the challenge that it answers, may be something else. */
export function byPasskey(passkey = simulatedPasskey(device), said: Said = {}, challenge?: Uint8Array) {
  const unsigned = tx();
  const asserted = passkey.assert(challenge ?? challengeOf({ transaction: payloadMessage(unsigned) }), said);
  return { ...unsigned, payloadSignatures: [{ address: account.address, keyId: 1, ...passkeySignature(asserted) }] };
}
export const asked = (message: Uint8Array, change: Partial<VerifiedToken> = {}) => ({
  message,
  chainName: "",
  token: { ...token, ...change },
  caller: "gateway",
});

/** Returns the rule that refused; checks that nothing but one refusal was recorded. */
export async function refusal(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => expect.unreachable("it was signed"),
    (thrown) => thrown,
  );
  const reason = error.metadata?.reason ?? error.reason;
  expect(state.records.map(({ verdict }) => verdict)).toEqual([reason]);
  return reason;
}

export async function verifies(key: KeyReference, message: Uint8Array, signature: Uint8Array): Promise<boolean> {
  return verifySignature(await vault.publicKey(key), message, signature, "sha3-256");
}

export const server = { role: "server", chainName, accountId: account.accountId, version: 1 } as const;

import { randomBytes } from "node:crypto";
import {
  createAccountsArguments,
  createAccountsScript,
  envelopeMessage,
  type FlowTransaction,
  payloadMessage,
} from "@countersign/flow";
import { withPayloadSignature } from "@countersign/flow/node";
import type { PublicKey } from "@countersign/keys";
import { generateKeyPair, verifySignature } from "@countersign/keys/node";
import { FixedClock, type VerifiedToken } from "@countersign/service-kit";
import { beforeEach, describe, expect, it } from "vitest";
import type { AuditEntry } from "../audit/record.ts";
import { createDecide } from "../domain/decide.ts";
import type { BindingStore } from "../domain/ports.ts";
import { signCreation } from "../domain/sign-creation.ts";
import { signPaymaster } from "../domain/sign-paymaster.ts";
import { signTransaction } from "../domain/sign-transaction.ts";
import { createKeystoreVault, type KeyReference } from "../vault/index.ts";
import type { Binding } from "./account.ts";
import type { ChainPolicy } from "./transaction.ts";

const hex = (bytes: number) => randomBytes(bytes).toString("hex");
const P256_PRIME = 0xffffffff00000001000000000000000000000000ffffffffffffffffffffffffn;

const chainName = "flow-emulator";
const account: Binding = {
  accountId: "01900000-0000-7000-8000-000000000001",
  chainName,
  address: "01cf0e2f2f715450",
  serverKeyIndex: 0,
  serverKeyVersion: 1,
};
const stranger = "179b6b1cb6755e31";
const policy: ChainPolicy = {
  chainName,
  paymaster: { address: "f3fcd2c1a78f5eee", keyId: 0 },
  creator: { address: "e03daebed8ca0615", keyCount: 8 },
  evmContract: "f8d6e0586b0a20c7",
  gasLimitCap: 9999n,
};
const otherPaymaster = "0ae53cb6e3f42a79";

const device = generateKeyPair();
const token: VerifiedToken = {
  accountId: account.accountId,
  sessionId: "01900000-0000-7000-8000-000000000002",
  appId: "demo",
  scope: "full",
  tokenId: "t",
  sessionKey: device.publicKey,
  accountKey: device.publicKey,
  issuedAt: new Date(),
  expiresAt: new Date(),
};

const scalar = () => [{ version: 1, scalar: `00${hex(31)}` }];
const vault = createKeystoreVault({
  rootSecret: hex(32),
  chains: { [chainName]: { creator: scalar(), paymaster: scalar() } },
});

let records: AuditEntry[];
let bindings: Binding[];
const store: BindingStore = {
  find: async (accountId) => bindings.filter((binding) => binding.accountId === accountId),
  insert: async (binding) => binding,
  bound: async (_, ids) => bindings.map(({ accountId }) => accountId).filter((id) => ids.includes(id)),
};
const audit = {
  admit: () => undefined,
  append: async (entry: AuditEntry) => {
    records.push(entry);
    return { chainId: "c", sequence: BigInt(records.length), hash: "" };
  },
};
const decide = createDecide({ vault, audit, clock: new FixedClock() });
const chain = () => policy;
const transaction = signTransaction({ decide, bindings: store, chain });
const paymaster = signPaymaster({
  decide,
  bindings: store,
  chain,
  paymasters: new Set([policy.paymaster.address, otherPaymaster]),
});
const creation = signCreation({ decide, bindings: store, vault, chain });

beforeEach(() => {
  records = [];
  bindings = [account];
});

const tx = (change: Partial<FlowTransaction> = {}): FlowTransaction => ({
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
const byDevice = (change: Partial<FlowTransaction> = {}, by = device, keyId = 1, address = account.address) =>
  withPayloadSignature(tx(change), { address, keyId, privateKey: by.privateKey, hash: "sha256" });
const asked = (message: Uint8Array, change: Partial<VerifiedToken> = {}) => ({
  message,
  chainName: "",
  token: { ...token, ...change },
  caller: "gateway",
});

/** The rule that refused; checks that nothing but one refusal was recorded. */
async function refusal(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => expect.unreachable("it was signed"),
    (thrown) => thrown,
  );
  const reason = error.metadata?.reason ?? error.reason;
  expect(records.map(({ verdict }) => verdict)).toEqual([reason]);
  return reason;
}

async function verifies(key: KeyReference, message: Uint8Array, signature: Uint8Array): Promise<boolean> {
  return verifySignature(await vault.publicKey(key), message, signature, "sha3-256");
}

const server = { role: "server", chainName, accountId: account.accountId, version: 1 } as const;

describe("the authorizer", () => {
  it("signs a payload of the caller's account, and the record is there", async () => {
    const message = payloadMessage(tx());
    const signed = await transaction(asked(message));
    expect(signed).toMatchObject({ address: account.address, keyId: 0 });
    expect(await verifies(server, message, signed.signature)).toBe(true);
    expect(records).toMatchObject([
      { verdict: "signed", operation: "transaction", chainName, accountId: account.accountId },
    ]);
  });

  it("signs the envelope where the account pays itself", async () => {
    const message = envelopeMessage(byDevice({ payer: account.address }));
    expect(await verifies(server, message, (await transaction(asked(message))).signature)).toBe(true);
  });

  it.each<[string, Uint8Array, string]>([
    ["another account's payload", payloadMessage(tx({ authorizers: [stranger] })), "NotYourAccount"],
    ["no authorizer", payloadMessage(tx({ authorizers: [] })), "NotYourAccount"],
    ["two authorizers", payloadMessage(tx({ authorizers: [account.address, stranger] })), "MoreThanOneAuthorizer"],
    [
      "the paymaster as second authorizer",
      payloadMessage(tx({ authorizers: [policy.paymaster.address, account.address] })),
      "MoreThanOneAuthorizer",
    ],
    [
      "a stranger as proposer",
      payloadMessage(tx({ proposalKey: { address: stranger, keyId: 1, sequenceNumber: 0n } })),
      "ProposerNotYours",
    ],
    ["a stranger as payer", payloadMessage(tx({ payer: stranger })), "UnknownPayer"],
    ["the creator as payer", payloadMessage(tx({ payer: policy.creator.address })), "UnknownPayer"],
    ["gas above the cap", payloadMessage(tx({ gasLimit: 10_000n })), "GasLimit"],
    ["a gas limit of nothing", payloadMessage(tx({ gasLimit: 0n })), "GasLimit"],
    [
      "the server key as proposer",
      payloadMessage(tx({ proposalKey: { address: account.address, keyId: 0, sequenceNumber: 0n } })),
      "ProposerNotYours",
    ],
    ["a huge gas limit", payloadMessage(tx({ gasLimit: 2n ** 64n - 1n })), "GasLimit"],
    ["an empty script", payloadMessage(tx({ script: "" })), "ScriptNotUnderstood"],
    ["a script of spaces", payloadMessage(tx({ script: " \n" })), "ScriptNotUnderstood"],
    ["the paymaster's envelope", envelopeMessage(byDevice()), "WrongMessageKind"],
    ["trailing bytes", Buffer.concat([payloadMessage(tx()), Buffer.of(0)]), "InvalidMessage"],
    ["another domain tag", Buffer.concat([Buffer.alloc(32), payloadMessage(tx()).subarray(32)]), "InvalidMessage"],
    ["a bare digest", randomBytes(32), "InvalidMessage"],
  ])("refuses %s", async (_, message, reason) => {
    expect(await refusal(transaction(asked(message)))).toBe(reason);
  });

  it.each(["sign", "recover"] as const)("refuses a token of scope %s", async (scope) => {
    expect(await refusal(transaction(asked(payloadMessage(tx()), { scope })))).toBe("OutsideEphemeralScope");
  });

  it("refuses an account without a binding", async () => {
    bindings = [];
    expect(await refusal(transaction(asked(payloadMessage(tx()))))).toBe("AccountNotReady");
  });

  it("asks for the chain where two have the address, and uses that chain's key", async () => {
    const other = { ...account, chainName: "flow-other" };
    bindings = [account, other];
    const message = payloadMessage(tx());
    expect(await refusal(transaction(asked(message)))).toBe("InvalidRequest");
    const signed = await transaction({ ...asked(message), chainName: "flow-other" });
    expect(await verifies({ ...server, chainName: "flow-other" }, message, signed.signature)).toBe(true);
    expect(await verifies(server, message, signed.signature)).toBe(false);
  });
});

describe("the paymaster", () => {
  it("signs the envelope of what the session's device has signed", async () => {
    const message = envelopeMessage(byDevice());
    const signed = await paymaster(asked(message));
    expect(signed).toMatchObject(policy.paymaster);
    expect(await verifies({ role: "paymaster", chainName }, message, signed.signature)).toBe(true);
  });

  const other = generateKeyPair();
  const withExtension = (signed: FlowTransaction) => ({
    ...signed,
    payloadSignatures: signed.payloadSignatures.map((entry) => ({ ...entry, extensionData: "01c0" })),
  });
  it.each<[string, Uint8Array, string]>([
    ["a payload", payloadMessage(tx()), "WrongMessageKind"],
    [
      "itself as the authorizer",
      envelopeMessage(byDevice({ authorizers: [policy.paymaster.address] }, device, 1, policy.paymaster.address)),
      "PaymasterWouldAuthorize",
    ],
    [
      "itself as a second authorizer",
      envelopeMessage(byDevice({ authorizers: [account.address, policy.paymaster.address] })),
      "PaymasterWouldAuthorize",
    ],
    [
      "itself as the proposer",
      envelopeMessage(byDevice({ proposalKey: { address: policy.paymaster.address, keyId: 0, sequenceNumber: 0n } })),
      "PaymasterWouldAuthorize",
    ],
    [
      "another chain's paymaster as authorizer",
      envelopeMessage(byDevice({ authorizers: [account.address, otherPaymaster] })),
      "PaymasterWouldAuthorize",
    ],
    ["an account that pays itself", envelopeMessage(byDevice({ payer: account.address })), "UnknownPayer"],
    ["a stranger as payer", envelopeMessage(byDevice({ payer: stranger })), "UnknownPayer"],
    [
      "another account's transaction",
      envelopeMessage(
        tx({ authorizers: [stranger], proposalKey: { address: stranger, keyId: 1, sequenceNumber: 0n } }),
      ),
      "NotYourAccount",
    ],
    [
      "a stranger as proposer",
      envelopeMessage(byDevice({ proposalKey: { address: stranger, keyId: 1, sequenceNumber: 0n } })),
      "ProposerNotYours",
    ],
    ["gas above the cap", envelopeMessage(byDevice({ gasLimit: 10_000n })), "GasLimit"],
    ["what nobody signed", envelopeMessage(tx()), "UserSignatureMissing"],
    ["what only the server's key signed", envelopeMessage(byDevice({}, device, 0)), "UserSignatureMissing"],
    ["another key's signature", envelopeMessage(byDevice({}, other)), "UserSignatureInvalid"],
    [
      "a signature of another payload",
      envelopeMessage({ ...tx({ gasLimit: 1000n }), payloadSignatures: byDevice().payloadSignatures }),
      "UserSignatureInvalid",
    ],
    ["a signature that claims to be a passkey's", envelopeMessage(withExtension(byDevice())), "UserSignatureInvalid"],
    [
      "a second signature, of the payer",
      envelopeMessage(
        withPayloadSignature(byDevice(), {
          address: policy.paymaster.address,
          keyId: 0,
          privateKey: other.privateKey,
          hash: "sha256",
        }),
      ),
      "UserSignatureInvalid",
    ],
    [
      "a forged signature beside the good one",
      envelopeMessage(
        withPayloadSignature(byDevice(), {
          address: account.address,
          keyId: 2,
          privateKey: other.privateKey,
          hash: "sha256",
        }),
      ),
      "UserSignatureInvalid",
    ],
    ["non-canonical bytes", Buffer.concat([envelopeMessage(byDevice()), Buffer.of(0x80)]), "InvalidMessage"],
  ])("refuses %s", async (_, message, reason) => {
    expect(await refusal(paymaster(asked(message)))).toBe(reason);
  });

  it("refuses a session whose account key cannot be on the chain", async () => {
    const accountKey = generateKeyPair("EdDSA").publicKey;
    expect(await refusal(paymaster(asked(envelopeMessage(byDevice()), { accountKey })))).toBe("UserSignatureInvalid");
  });
});

describe("the creator", () => {
  const ids = ["01900000-0000-7000-8000-00000000000a", "01900000-0000-7000-8000-00000000000b"];
  const users = ids.map(() => generateKeyPair().publicKey);
  const { address } = policy.creator;
  const serverKeyOf = (accountId: string) => vault.publicKey({ role: "server", chainName, accountId, version: 1 });

  async function message(
    change: Partial<FlowTransaction> = {},
    userKeys: readonly PublicKey[] = users,
    accountIds = ids,
  ) {
    const serverKeys = await Promise.all(accountIds.map(serverKeyOf));
    return envelopeMessage(
      tx({
        script: createAccountsScript(policy.evmContract),
        arguments: createAccountsArguments(serverKeys.map((serverKey, i) => ({ serverKey, userKey: userKeys[i]! }))),
        gasLimit: 9999n,
        proposalKey: { address, keyId: 3, sequenceNumber: 1n },
        payer: address,
        authorizers: [address],
        ...change,
      }),
    );
  }
  const create = (bytes: Uint8Array, accountIds = ids) =>
    creation({ chainName, message: bytes, accountIds, caller: "account" });
  /** The message with its argument texts changed. */
  const rewritten = async (change: (text: string) => string) => {
    const serverKeys = await Promise.all(ids.map(serverKeyOf));
    const texts = createAccountsArguments(serverKeys.map((serverKey, i) => ({ serverKey, userKey: users[i]! })));
    return message({ arguments: texts.map(change) });
  };

  it("signs the exact template for these accounts", async () => {
    const bytes = await message();
    const signed = await create(bytes);
    expect(signed).toMatchObject({ address, keyId: 3 });
    expect(await verifies({ role: "creator", chainName }, bytes, signed.signature)).toBe(true);
  });

  it.each<[string, () => Promise<Uint8Array>]>([
    ["another script", () => message({ script: `${createAccountsScript(policy.evmContract)} ` })],
    ["another EVM contract", () => message({ script: createAccountsScript("0000000000000001") })],
    [
      "an argument more",
      async () => rewritten((text) => text).then(() => message({ arguments: ["[]", "[]", "[]", "[]"] })),
    ],
    ["arguments that are not arrays", () => message({ arguments: ["1", "null", "{}"] })],
    [
      "upper-case hex",
      () =>
        rewritten((text) => text.replace(/"value":"[0-9a-f]+"/g, (key) => key.toUpperCase().replace("VALUE", "value"))),
    ],
    ["white space in an argument", () => rewritten((text) => text.replace(",", ", "))],
    ["another proposer", () => message({ proposalKey: { address: stranger, keyId: 0, sequenceNumber: 0n } })],
    ["another payer", () => message({ payer: policy.paymaster.address })],
    ["another authorizer", () => message({ authorizers: [stranger] })],
    ["a second authorizer", () => message({ authorizers: [address, stranger] })],
    ["a key index that the creator has not", () => message({ proposalKey: { address, keyId: 8, sequenceNumber: 0n } })],
    [
      "a user key that is an object",
      () =>
        message({
          arguments: [
            "[]",
            '{"type":"Array","value":[{"value":{"toString":1}},{}]}',
            '{"type":"Array","value":[{},{}]}',
          ],
        }),
    ],
    [
      "a user key that is the paymaster's",
      async () => message({}, [await vault.publicKey({ role: "paymaster", chainName }), users[1]!]),
    ],
    ["a gas limit of nothing", () => message({ gasLimit: 0n })],
    ["gas above the chain's limit", () => message({ gasLimit: 10_000n })],
    ["server keys of other accounts", () => message({}, users, [...ids].reverse())],
    ["a user key that is the server key", async () => message({}, [await serverKeyOf(ids[0]!), users[1]!])],
    [
      "a user key that is the server key's negation",
      async () => {
        const { algorithm, publicKey } = await serverKeyOf(ids[1]!);
        const y = P256_PRIME - BigInt(`0x${publicKey.slice(64)}`);
        return message({}, [
          { algorithm, publicKey: publicKey.slice(0, 64) + y.toString(16).padStart(64, "0") },
          users[1]!,
        ]);
      },
    ],
    ["a user key off its curve", () => message({}, [{ algorithm: "ES256", publicKey: "11".repeat(64) }, users[1]!])],
  ])("refuses %s", async (_, bytes) => {
    expect(await refusal(create(await bytes()))).toBe("BadCreation");
  });

  it("refuses a payload, and payload signatures", async () => {
    const serverKeys = await Promise.all(ids.map(serverKeyOf));
    const signed = withPayloadSignature(
      tx({
        script: createAccountsScript(policy.evmContract),
        arguments: createAccountsArguments(serverKeys.map((serverKey, i) => ({ serverKey, userKey: users[i]! }))),
        gasLimit: 9999n,
        proposalKey: { address, keyId: 3, sequenceNumber: 1n },
        payer: address,
        authorizers: [address],
      }),
      { address, keyId: 3, privateKey: device.privateKey, hash: "sha3-256" },
    );
    expect(await refusal(create(envelopeMessage(signed)))).toBe("BadCreation");
    records = [];
    expect(await refusal(create(payloadMessage(signed)))).toBe("BadCreation");
  });

  it("refuses none, eleven, an account twice, and an account that is bound", async () => {
    for (const accountIds of [
      [],
      Array.from({ length: 11 }, (_, i) => `${ids[0]!.slice(0, -2)}${10 + i}`),
      [ids[0]!, ids[0]!],
    ]) {
      records = [];
      expect(await refusal(create(await message(), accountIds))).toBe("BadCreation");
    }
    records = [];
    bindings = [{ ...account, accountId: ids[1]! }];
    expect(await refusal(create(await message()))).toBe("BadCreation");
  });
});

import type { VerifiedToken } from "@countersign/core";
import { accountProofMessage, passkeySignature, payloadMessage, TRANSACTION_TAG, userMessage } from "@countersign/flow";
import { bytesToHex, challengeOf } from "@countersign/keys";
import { generateKeyPair, signMessage } from "@countersign/keys/node";
import { simulatedPasskey, TEST_RELYING_PARTY } from "@countersign/keys/testing";
import { describe, expect, it } from "vitest";
import { sha256 } from "../audit/record.ts";
import { createBackendCheck } from "../policy/backends.ts";
import { DEFAULT_POLICY, parsePolicy } from "../policy/policy.ts";
import { addKey, changeOf, envelopeBy, revokeKey, sessionOf } from "../testing/key-history-fixture.ts";
import {
  account,
  asked,
  chainName,
  clock,
  decide,
  device,
  otherAddress,
  paymaster,
  policy,
  refusal,
  revokedKeys,
  server,
  signing,
  state,
  TIME_LOCK_POLICY,
  token,
  transaction,
  tx,
  verifies,
} from "../testing/policy-fixture.ts";
import { requesterOf } from "./decide.ts";
import { signAccountProof, signUserMessage, type UserSignature } from "./sign-user-message.ts";

const ports = {
  ...signing,
  passkeys: { relyingPartiesOf: (appId: string) => (appId === token.appId ? [TEST_RELYING_PARTY] : []) },
};
const signText = signUserMessage(ports);
const prove = signAccountProof(ports);

const text = Buffer.from("I agree to the terms");
const proof = { appIdentifier: "https://dapp.example", nonce: "75".repeat(32) };
const unknownKey = generateKeyPair();

const signed = (message: Uint8Array, by = device): UserSignature["signature"] => ({
  signature: bytesToHex(signMessage(by.privateKey, message, "sha256")),
});
const command = (message: Uint8Array, change: Partial<UserSignature> = {}, of: Partial<VerifiedToken> = {}) => {
  const { token: by, caller } = asked(message, of);
  return { token: by, caller, chainName: "", address: account.address, signature: signed(message), ...change };
};
/** A good request for the text, and with a change. */
const textCommand = (
  change: Partial<UserSignature> = {},
  of: Partial<VerifiedToken> = {},
  content: Uint8Array = text,
) => ({
  ...command(userMessage(content), change, of),
  text: content,
});
const proofCommand = (change: Partial<UserSignature & typeof proof> = {}, of: Partial<VerifiedToken> = {}) => {
  const statement = { ...proof, address: account.address, ...change };
  return { ...command(accountProofMessage(statement), change, of), ...proof, ...change };
};

describe("a text of the account's user", () => {
  it("is signed with the account's server key, under the tag of user messages, and recorded", async () => {
    const { address, keyId, signature } = await signText(textCommand());
    expect({ address, keyId }).toEqual({ address: account.address, keyId: account.serverKeyIndex });
    expect(await verifies(server, userMessage(text), signature)).toBe(true);
    const { accountId, sessionId, limitId } = requesterOf({ token, caller: "gateway" });
    expect(state.records).toEqual([
      {
        ...{ time: clock.now(), caller: "gateway", accountId, sessionId, limitId },
        ...{ operation: "user-message", chainName, messageHash: sha256(userMessage(text)), scriptHash: "" },
        ...{ verdict: "signed", policyVersion: DEFAULT_POLICY.version, keyVersion: 1 },
      },
    ]);
    expect(state.reserved).toEqual([]);
  });

  it("may be signed by a passkey of the session's app", async () => {
    const asserted = simulatedPasskey(device).assert(challengeOf({ transaction: userMessage(text) }));
    const { signature } = await signText(textCommand({ signature: passkeySignature(asserted) }));
    expect(await verifies(server, userMessage(text), signature)).toBe(true);
  });

  it.each<[string, () => ReturnType<typeof textCommand>]>([
    ["the signature of another key", () => textCommand({ signature: signed(userMessage(text), unknownKey) })],
    ["a signature over another text", () => textCommand({ signature: signed(userMessage(Buffer.from("I disagree"))) })],
    ["a signature over the text without its tag", () => textCommand({ signature: signed(text) })],
    ["zeros", () => textCommand({ signature: { signature: "00".repeat(64) } })],
    [
      "extension data of no known form",
      () => textCommand({ signature: { ...signed(userMessage(text)), extensionData: "ff" } }),
    ],
    [
      "a signature of the same text as a transaction",
      () => textCommand({ signature: signed(Buffer.concat([TRANSACTION_TAG, text])) }),
    ],
    [
      "a passkey that answered a login's challenge",
      () => textCommand({ signature: passkeySignature(simulatedPasskey(device).assert(new Uint8Array(16))) }),
    ],
    [
      "a passkey of another app",
      () => {
        const asserted = simulatedPasskey(device).assert(challengeOf({ transaction: userMessage(text) }));
        return textCommand({ signature: passkeySignature(asserted) }, { appId: "another" });
      },
    ],
    [
      "a passkey on a page of another origin",
      () => {
        const challenge = challengeOf({ transaction: userMessage(text) });
        const asserted = simulatedPasskey(device).assert(challenge, { client: { origin: "https://evil.example" } });
        return textCommand({ signature: passkeySignature(asserted) });
      },
    ],
  ])("with %s is UserSignatureInvalid", async (_, bad) => {
    expect(await refusal(signText(bad()))).toBe("UserSignatureInvalid");
  });

  it.each<[string, Uint8Array]>([
    ["nothing", new Uint8Array()],
    ["4097 bytes", Buffer.alloc(4_097, "x")],
    ["bytes that are no text", Buffer.from("fffe", "hex")],
    ["hidden characters", Buffer.from("pay \u202e1000")],
    ["a hash, as an order on EVM has one", Buffer.from(sha256("an order"), "hex")],
    ["32 bytes of text, as such a hash that somebody searched for", Buffer.alloc(32, "x")],
    ["an account proof for another app", accountProofMessage({ ...proof, address: account.address }).subarray(32)],
  ])("of %s is InvalidMessage, though its user has signed it", async (_, content) => {
    expect(await refusal(signText(textCommand({}, {}, content)))).toBe("InvalidMessage");
  });
});

describe("an account proof", () => {
  it("is signed with the account's server key, under its own tag, and recorded", async () => {
    const { signature } = await prove(proofCommand());
    const message = accountProofMessage({ ...proof, address: account.address });
    expect(await verifies(server, message, signature)).toBe(true);
    expect(state.records).toMatchObject([
      { operation: "account-proof", verdict: "signed", messageHash: sha256(message) },
    ]);
  });

  it("for the address of another account is NotYourAccount", async () => {
    expect(await refusal(prove(proofCommand({ address: otherAddress })))).toBe("NotYourAccount");
  });

  it.each<[string, object]>([
    ["another address", { address: otherAddress }],
    ["another app", { appIdentifier: "https://other.example" }],
    ["another nonce", { nonce: "76".repeat(32) }],
  ])("whose user has signed %s is UserSignatureInvalid", async (_, change) => {
    const other = accountProofMessage({ ...proof, address: account.address, ...change });
    expect(await refusal(prove(proofCommand({ signature: signed(other) })))).toBe("UserSignatureInvalid");
  });

  it.each<[string, Partial<typeof proof>]>([
    ["no app", { appIdentifier: "" }],
    ["an app of two lines", { appIdentifier: "https://dapp.example\nhttps://other.example" }],
    ["an app of 257 bytes", { appIdentifier: "x".repeat(257) }],
    ["a short nonce", { nonce: "75".repeat(31) }],
    ["a long nonce", { nonce: "75".repeat(129) }],
  ])("with %s is InvalidMessage", async (_, change) => {
    expect(await refusal(prove(proofCommand(change)))).toBe("InvalidMessage");
  });

  it("is for the app identifiers that the policy lists for the session's app", async () => {
    const switches = { authorizer: true, paymaster: true, creation: true };
    const file = { version: "1", mode: "standard", caps: { gasLimit: 1 }, switches };
    state.policy = parsePolicy({ ...file, appIdentifiers: { [token.appId]: [proof.appIdentifier] } });
    await prove(proofCommand());
    state.records = [];
    expect(await refusal(prove(proofCommand({ appIdentifier: "https://other.example" })))).toBe(
      "AppIdentifierNotAllowed",
    );
    state.records = [];
    await prove(proofCommand({ appIdentifier: "https://other.example" }, { appId: "another" }));
  });
});

describe.each<[string, (change?: Partial<UserSignature>, of?: Partial<VerifiedToken>) => Promise<unknown>]>([
  ["a text", (change, of) => signText(textCommand(change, of))],
  ["an account proof", (change, of) => prove(proofCommand(change, of))],
])("for %s", (_, sign) => {
  it("a session that is not full does not suffice", async () => {
    for (const scope of ["sign", "recover"] as const) {
      expect(await refusal(sign({}, { scope }))).toBe("OutsideEphemeralScope");
      state.records = [];
    }
  });

  it("a key that only the token names does not suffice", async () => {
    const statement = accountProofMessage({ ...proof, address: account.address });
    const by = { accountKey: unknownKey.publicKey };
    for (const message of [userMessage(text), statement]) {
      expect(await refusal(sign({ signature: signed(message, unknownKey) }, by))).toBe("UnregisteredKey");
      state.records = [];
    }
  });

  it("nor does one whose addition only such a key approves, or one whose revocation was signed", async () => {
    const revoked = generateKeyPair();
    await addKey(revoked.publicKey);
    await revokeKey(revoked.publicKey, device);
    const messages = [userMessage(text), accountProofMessage({ ...proof, address: account.address })];
    const approvals = [
      [unknownKey, "full"],
      [unknownKey, "recover"],
      [revoked, "full"],
      [device, "recover"],
    ] as const;
    for (const [approver, scope] of approvals) {
      const added = generateKeyPair();
      const session = { ...sessionOf(approver), scope };
      const payload = changeOf({ template: "add-user-key", newKey: added.publicKey });
      if (scope === "recover") {
        const waits = transaction(asked(payloadMessage(payload), session));
        await expect(waits).rejects.toMatchObject({ reason: "TimeLockRequired" });
        clock.advance(TIME_LOCK_POLICY.recoveredDeviceMs);
      }
      await paymaster(asked(await envelopeBy(payload, [approver], session), session));
      for (const message of messages) {
        state.records = [];
        const attempt = sign({ signature: signed(message, added) }, { accountKey: added.publicKey });
        expect(await refusal(attempt)).toBe("UnregisteredKey");
      }
    }
  });

  it("a key does not suffice after its revocation was signed, nor while it is blocked", async () => {
    state.blockedKeys = [device.publicKey];
    expect(await refusal(sign())).toBe("BlockedKey");
    state.blockedKeys = [];
    state.records = [];
    await revokedKeys.record(account, device.publicKey.publicKey);
    expect(await refusal(sign())).toBe("UnregisteredKey");
  });

  it("the account must be the token's, and on a chain", async () => {
    expect(await refusal(sign({ address: otherAddress }))).toBe("NotYourAccount");
    state.records = [];
    expect(await refusal(sign({}, { accountId: "01900000-0000-7000-8000-0000000000ff" }))).toBe("AccountNotReady");
    state.records = [];
    // Neither is an address that the account may use otherwise, such as a child's.
    expect(await refusal(sign({ address: policy.paymaster.address }))).toBe("NotYourAccount");
  });

  it("an account with one address on two chains must name the chain, and only that chain's key signs", async () => {
    state.bindings = [account, { ...account, chainName: "flow-testnet" }];
    expect(await refusal(sign())).toBe("InvalidRequest");
    await sign({ chainName });
    expect(state.records.at(-1)).toMatchObject({ chainName, verdict: "signed" });
  });

  it("the operator can switch it off, and mode templates does", async () => {
    const file = { version: "1", mode: "standard", caps: { gasLimit: 1 } };
    const switches = { authorizer: true, paymaster: true, creation: true };
    state.policy = parsePolicy({ ...file, switches: { ...switches, userMessages: false } });
    expect(await refusal(sign())).toBe("SwitchedOff");
    state.records = [];
    state.policy = parsePolicy({ ...file, mode: "templates", switches });
    expect(await refusal(sign())).toBe("SwitchedOff");
    state.policy = parsePolicy({ ...file, mode: "templates", switches: { ...switches, userMessages: true } });
    await sign();
  });

  it("a backend asks for users of its own apps only", async () => {
    const backend = { apps: new Set(["another"]) };
    const limited = { ...ports, checkBackend: createBackendCheck(() => backend, clock) };
    expect(await refusal(signUserMessage(limited)(textCommand()))).toBe("NotYourApp");
    state.records = [];
    expect(await refusal(signAccountProof(limited)(proofCommand()))).toBe("NotYourApp");
  });
});

describe("no message of one operation is signed as another", () => {
  const messages = {
    transaction: payloadMessage(tx()),
    "user-message": userMessage(text),
    "account-proof": accountProofMessage({ ...proof, address: account.address }),
  };
  const requester = { caller: "gateway", accountId: "", sessionId: "", limitId: "" };
  const operations = ["transaction", "paymaster", "creation", "user-message", "account-proof"] as const;
  const kindOf = (operation: string) =>
    operation === "paymaster" || operation === "creation" ? "transaction" : operation;
  const pairs = operations.flatMap((operation) =>
    (["transaction", "user-message", "account-proof"] as const).flatMap((kind) =>
      kind === kindOf(operation) ? [] : [[kind, operation] as const],
    ),
  );

  it.each(pairs)("%s as %s", async (kind, operation) => {
    const permit = () => expect.unreachable("it was decoded");
    expect(await refusal(decide(operation, messages[kind], requester, permit))).toBe("InvalidMessage");
  });
});

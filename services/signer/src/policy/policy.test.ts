import { randomBytes } from "node:crypto";
import { AppError } from "@countersign/core";
import { envelopeMessage, type FlowTransaction, payloadMessage } from "@countersign/flow";
import { withPayloadSignature } from "@countersign/flow/node";
import { generateKeyPair } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import { signTransaction } from "../domain/sign-transaction.ts";
import {
  account,
  asked,
  byDevice,
  chainName,
  device,
  otherAddress,
  otherPaymaster,
  paymaster,
  policy,
  refusal,
  server,
  signing,
  state,
  store,
  transaction,
  tx,
  verifies,
} from "../testing/policy-fixture.ts";
import { DEFAULT_POLICY, type Policy, parsePolicy } from "./policy.ts";

describe("the authorizer", () => {
  it("signs a payload of the caller's account, and the record is there", async () => {
    const message = payloadMessage(tx());
    const signed = await transaction(asked(message));
    expect(signed).toMatchObject({ address: account.address, keyId: 0 });
    expect(await verifies(server, message, signed.signature)).toBe(true);
    expect(state.records).toMatchObject([
      { verdict: "signed", operation: "transaction", chainName, accountId: account.accountId },
    ]);
  });

  it("signs the envelope where the account pays itself", async () => {
    const message = envelopeMessage(byDevice({ payer: account.address }));
    expect(await verifies(server, message, (await transaction(asked(message))).signature)).toBe(true);
  });

  it.each<[string, Uint8Array, string]>([
    ["another account's payload", payloadMessage(tx({ authorizers: [otherAddress] })), "NotYourAccount"],
    ["no authorizer", payloadMessage(tx({ authorizers: [] })), "NotYourAccount"],
    ["two authorizers", payloadMessage(tx({ authorizers: [account.address, otherAddress] })), "MoreThanOneAuthorizer"],
    [
      "the paymaster as second authorizer",
      payloadMessage(tx({ authorizers: [policy.paymaster.address, account.address] })),
      "MoreThanOneAuthorizer",
    ],
    [
      "another account as proposer",
      payloadMessage(tx({ proposalKey: { address: otherAddress, keyId: 1, sequenceNumber: 0n } })),
      "ProposerNotYours",
    ],
    ["another account as payer", payloadMessage(tx({ payer: otherAddress })), "UnknownPayer"],
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
    state.bindings = [];
    expect(await refusal(transaction(asked(payloadMessage(tx()))))).toBe("AccountNotReady");
  });

  it.each([
    ["no binding yet", []],
    ["the binding of another chain only", [{ ...account, chainName: "flow-other", address: otherAddress }]],
  ])("signs for a new binding at once, where a cached answer has %s", async (_case, cached) => {
    const bindings = { ...store, find: async () => cached };
    await signTransaction({ ...signing, bindings })(asked(payloadMessage(tx())));
  });

  it("knows its chains only", async () => {
    const known = (name: string) => {
      if (name !== policy.chainName) throw new AppError("UnknownChain");
      return policy;
    };
    const message = payloadMessage(tx());
    for (const chainName of ["flow-emulator", "flow-elsewhere"]) {
      const work = signTransaction({ ...signing, chain: known })({ ...asked(message), chainName });
      if (chainName === policy.chainName) await work;
      else await expect(work).rejects.toMatchObject({ reason: "UnknownChain" });
    }
  });

  it("asks for the chain where two have the address, and uses that chain's key", async () => {
    const other = { ...account, chainName: "flow-other" };
    state.bindings = [account, other];
    const message = payloadMessage(tx());
    expect(await refusal(transaction(asked(message)))).toBe("InvalidRequest");
    const signed = await transaction({ ...asked(message), chainName: "flow-other" });
    expect(await verifies({ ...server, chainName: "flow-other" }, message, signed.signature)).toBe(true);
    expect(await verifies(server, message, signed.signature)).toBe(false);
  });
});

describe("a kill switch", () => {
  const off = (operation: keyof Policy["switches"]) => {
    state.policy = { ...DEFAULT_POLICY, switches: { ...DEFAULT_POLICY.switches, [operation]: false } };
  };

  it("of the authorizer stops it, and not the paymaster", async () => {
    off("transaction");
    expect(await refusal(transaction(asked(payloadMessage(tx()))))).toBe("SwitchedOff");
    await paymaster(asked(envelopeMessage(byDevice())));
  });

  it("of the paymaster stops it, and not the authorizer", async () => {
    off("paymaster");
    expect(await refusal(paymaster(asked(envelopeMessage(byDevice()))))).toBe("SwitchedOff");
    await transaction(asked(payloadMessage(tx())));
  });

  it("is thrown by the policy file", () => {
    const file = { version: "1", mode: "standard", caps: { gasLimit: 1 } };
    const switches = { authorizer: true, paymaster: true, creation: true };
    for (const [name, operation] of [
      ["authorizer", "transaction"],
      ["paymaster", "paymaster"],
      ["creation", "creation"],
    ] as const) {
      const parsed = parsePolicy({ ...file, switches: { ...switches, [name]: false } });
      expect(Object.entries(parsed.switches).filter(([, on]) => !on)).toEqual([[operation, false]]);
    }
  });
});

it("the lists of a policy file are the policy's, and a list that it does not name is empty", () => {
  const switches = { authorizer: true, paymaster: true, creation: true };
  const file = { version: "1", mode: "standard", caps: { gasLimit: 1 }, switches };
  const [contract, script] = ["A.0000000000000002.Foo", "ab".repeat(32)];
  const [ofContract, ofScript, none] = [new Set([contract]), new Set([script]), new Set()];
  const { contracts, scripts } = parsePolicy(file);
  expect({ contracts, scripts }).toEqual({
    contracts: { mayGetAccount: none, mayNamePaths: none, denied: none },
    scripts: { allowed: none, denied: none },
  });
  for (const name of ["mayGetAccount", "mayNamePaths", "denied"])
    expect(parsePolicy({ ...file, contracts: { [name]: [contract] } }).contracts).toEqual({
      ...contracts,
      [name]: ofContract,
    });
  for (const name of ["allowed", "denied"])
    expect(parsePolicy({ ...file, scripts: { [name]: [script] } }).scripts).toEqual({ ...scripts, [name]: ofScript });
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
    ["another account as payer", envelopeMessage(byDevice({ payer: otherAddress })), "UnknownPayer"],
    [
      "another account's transaction",
      envelopeMessage(
        tx({ authorizers: [otherAddress], proposalKey: { address: otherAddress, keyId: 1, sequenceNumber: 0n } }),
      ),
      "NotYourAccount",
    ],
    [
      "another account as proposer",
      envelopeMessage(byDevice({ proposalKey: { address: otherAddress, keyId: 1, sequenceNumber: 0n } })),
      "ProposerNotYours",
    ],
    ["gas above the cap", envelopeMessage(byDevice({ gasLimit: 10_000n })), "GasLimit"],
    [
      "a script that the authorizer would refuse",
      envelopeMessage(byDevice({ script: "transaction { prepare(a: auth(Keys) &Account) {} }" })),
      "ForbiddenEntitlement",
    ],
    ["an unsigned envelope", envelopeMessage(tx()), "UserSignatureMissing"],
    ["an envelope that only the server's key signed", envelopeMessage(byDevice({}, device, 0)), "UserSignatureMissing"],
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
    [
      "the device's signature twice, at another index too",
      envelopeMessage(
        withPayloadSignature(byDevice(), {
          address: account.address,
          keyId: 2,
          privateKey: device.privateKey,
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

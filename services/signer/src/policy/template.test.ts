import {
  addUserKeyArguments,
  decodeMessage,
  encodeCadence,
  envelopeMessage,
  keyChangeArguments,
  keyTemplateScript,
  type ParentLinkChange,
  parentLinkArguments,
  parentLinkScript,
  payloadMessage,
  type TransactionPayload,
} from "@countersign/flow";
import { bytesToHex } from "@countersign/keys";
import { generateKeyPair } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import { addition, ephemeral, newDevice, paid } from "../testing/key-addition-fixture.ts";
import {
  account,
  asked,
  byDevice,
  chainName,
  device,
  P256_PRIME,
  paymaster,
  policy,
  refusal,
  server,
  state,
  token,
  transaction,
  tx,
  vault,
  verifies,
} from "../testing/policy-fixture.ts";

describe("the addition of a user key", () => {
  it("is signed for a full session, proposed by the server key, above the ordinary gas cap", async () => {
    const message = payloadMessage(addition());
    const signed = await transaction(asked(message));
    expect(await verifies(server, message, signed.signature)).toBe(true);
    const envelope = await paid();
    const sponsored = await paymaster(asked(envelope));
    expect(await verifies({ role: "paymaster", chainName }, envelope, sponsored.signature)).toBe(true);
  });

  it.each<[string, () => Partial<TransactionPayload>, string]>([
    [
      "a device as proposer",
      () => ({ proposalKey: { address: account.address, keyId: 1, sequenceNumber: 0n } }),
      "ProposerNotYours",
    ],
    [
      "an argument more",
      () => ({ arguments: [...addUserKeyArguments(newDevice.publicKey), '{"type":"Bool","value":true}'] }),
      "BadTemplateArguments",
    ],
    ["no arguments", () => ({ arguments: [] }), "BadTemplateArguments"],
    [
      "the key in upper case",
      () => ({
        arguments: [
          JSON.stringify({ type: "String", value: newDevice.publicKey.publicKey.toUpperCase() }),
          addUserKeyArguments(newDevice.publicKey)[1]!,
        ],
      }),
      "BadTemplateArguments",
    ],
    [
      "spaces in the JSON",
      () => ({ arguments: addUserKeyArguments(newDevice.publicKey).map((text) => text.replace(":", ": ")) }),
      "BadTemplateArguments",
    ],
    [
      "a key off the curve",
      () => ({
        arguments: [
          JSON.stringify({ type: "String", value: "11".repeat(64) }),
          addUserKeyArguments(newDevice.publicKey)[1]!,
        ],
      }),
      "BadTemplateArguments",
    ],
    [
      "the curve of another algorithm",
      () => ({ arguments: [addUserKeyArguments(newDevice.publicKey)[0]!, '{"type":"Bool","value":true}'] }),
      "BadTemplateArguments",
    ],
    ["a script that differs by a space", () => ({ script: `${addition().script} ` }), "ProposerNotYours"],
    ["more gas than the chain has", () => ({ gasLimit: 10_000n }), "GasLimit"],
  ])("refuses %s", async (_, change, reason) => {
    expect(await refusal(transaction(asked(payloadMessage(addition(undefined, change())))))).toBe(reason);
  });

  it.each(["server", "creator", "paymaster"] as const)("refuses our own %s key", async (role) => {
    const key = await vault.publicKey(role === "server" ? server : { role, chainName });
    expect(await refusal(transaction(asked(payloadMessage(addition(key)))))).toBe("BadTemplateArguments");
  });

  it("refuses the negation of a key of ours, which has the same holder", async () => {
    const { algorithm, publicKey } = await vault.publicKey(server);
    const y = P256_PRIME - BigInt(`0x${publicKey.slice(64)}`);
    const negation = { algorithm, publicKey: publicKey.slice(0, 64) + y.toString(16).padStart(64, "0") };
    expect(await refusal(transaction(asked(payloadMessage(addition(negation)))))).toBe("BadTemplateArguments");
  });
});

it.each(["server", "creator", "paymaster"] as const)(
  "nor does the paymaster pay for the addition of our own %s key",
  async (role) => {
    const key = await vault.publicKey(role === "server" ? server : { role, chainName });
    const envelope = envelopeMessage(byDevice(addition(key)));
    expect(await refusal(paymaster(asked(envelope)))).toBe("BadTemplateArguments");
  },
);

describe("the revocation of a user key", () => {
  const revocation = (oldKey: string) => ({
    ...addition(),
    script: keyTemplateScript("revoke-user-key"),
    arguments: keyChangeArguments({ template: "revoke-user-key", oldKey }).map(encodeCadence),
  });

  it("is signed for a full session", async () => {
    const message = payloadMessage(revocation(newDevice.publicKey.publicKey));
    const signed = await transaction(asked(message));
    expect(await verifies(server, message, signed.signature)).toBe(true);
  });

  it("is not signed for an ephemeral token, nor for a key of ours", async () => {
    const own = payloadMessage(revocation(newDevice.publicKey.publicKey));
    expect(await refusal(transaction(asked(own, ephemeral)))).toBe("OutsideEphemeralScope");
    state.records = [];
    const ours = payloadMessage(revocation((await vault.publicKey(server)).publicKey));
    expect(await refusal(transaction(asked(ours)))).toBe("BadTemplateArguments");
  });
});

describe.each(["publish-parent-link", "claim-parent-link", "remove-parent-link"] as const)("%s", (template) => {
  const link = (change: Partial<TransactionPayload> = {}) => {
    const wanted: ParentLinkChange = { template, other: "179b6b1cb6755e31" };
    const args = parentLinkArguments(wanted).map(encodeCadence);
    return payloadMessage({ ...addition(), script: parentLinkScript(template), arguments: args, ...change });
  };

  it("is signed for a full session, proposed by the server key", async () => {
    const signed = await transaction(asked(link()));
    expect(await verifies(server, link(), signed.signature)).toBe(true);
  });

  it("is refused with other arguments, proposed by a device, and for an ephemeral token", async () => {
    expect(await refusal(transaction(asked(link({ arguments: [] }))))).toBe("BadTemplateArguments");
    state.records = [];
    const proposalKey = { address: account.address, keyId: 1, sequenceNumber: 0n };
    expect(await refusal(transaction(asked(link({ proposalKey }))))).toBe("ProposerNotYours");
    state.records = [];
    expect(await refusal(transaction(asked(link(), ephemeral)))).toBe("OutsideEphemeralScope");
  });

  it("is refused where the account pays itself: of whom the envelope's other signature will be, nothing is seen", async () => {
    const own = decodeMessage(link({ payer: account.address }));
    for (const message of [payloadMessage(own), envelopeMessage(own)]) {
      state.records = [];
      expect(await refusal(transaction(asked(message)))).toBe("UnknownPayer");
    }
  });

  it("is refused between an account and itself", async () => {
    const args = parentLinkArguments({ template, other: account.address }).map(encodeCadence);
    expect(await refusal(transaction(asked(link({ arguments: args }))))).toBe("BadTemplateArguments");
  });

  it("is a custom script with a space more, which the server key does not propose", async () => {
    const script = `${parentLinkScript(template)} `;
    expect(await refusal(transaction(asked(link({ script }))))).toBe("ProposerNotYours");
  });
});

describe("an ephemeral token", () => {
  it("adds its own key: both signatures, three times each", async () => {
    const message = payloadMessage(addition());
    const envelope = await paid();
    for (let use = 0; use < 3; use++) {
      await transaction(asked(message, ephemeral));
      await paymaster(asked(envelope, ephemeral));
    }
    state.records = [];
    expect(await refusal(transaction(asked(message, ephemeral)))).toBe("OutsideEphemeralScope");
    state.records = [];
    expect(await refusal(paymaster(asked(envelope, ephemeral)))).toBe("OutsideEphemeralScope");
  });

  it("loses no use by what is refused", async () => {
    for (let i = 0; i < 5; i++) {
      state.records = [];
      await refusal(transaction(asked(payloadMessage(addition(undefined, { gasLimit: 0n })), ephemeral)));
    }
    await transaction(asked(payloadMessage(addition()), ephemeral));
  });

  it.each<[string, () => Uint8Array]>([
    ["any other transaction", () => payloadMessage(tx())],
    ["the addition of another key", () => payloadMessage(addition(generateKeyPair().publicKey))],
    ["the addition of the approver's key again", () => payloadMessage(addition(device.publicKey))],
  ])("signs no %s", async (_, message) => {
    expect(await refusal(transaction(asked(message(), ephemeral)))).toBe("OutsideEphemeralScope");
  });

  it("adds its key to its own account only", async () => {
    const message = payloadMessage(addition(undefined, { authorizers: ["179b6b1cb6755e31"] }));
    expect(await refusal(transaction(asked(message, ephemeral)))).toBe("NotYourAccount");
  });

  it("is paid for only with the server key's valid signature", async () => {
    const unsigned = envelopeMessage({ ...addition(), payloadSignatures: byDevice(addition()).payloadSignatures });
    expect(await refusal(paymaster(asked(unsigned, ephemeral)))).toBe("UserSignatureMissing");
    const forged = await paid(addition(), "forged");
    expect(await refusal(paymaster(asked(forged, ephemeral)))).toBe("UserSignatureInvalid");
  });

  it("is not paid for where somebody else has signed as well", async () => {
    const { signature } = await transaction(asked(payloadMessage(addition())));
    state.records = [];
    const payloadSignatures = [
      { address: account.address, keyId: 0, signature: bytesToHex(signature) },
      { address: policy.paymaster.address, keyId: 0, signature: "5a".repeat(64) },
    ];
    const envelope = envelopeMessage({ ...addition(), payloadSignatures });
    expect(await refusal(paymaster(asked(envelope, ephemeral)))).toBe("UserSignatureInvalid");
  });

  it("does not let the account pay, whose envelope no paymaster looks at", async () => {
    const message = payloadMessage(addition(undefined, { payer: account.address }));
    expect(await refusal(transaction(asked(message, ephemeral)))).toBe("UnknownPayer");
  });

  it("differs from the session's by its scope alone", async () => {
    expect(token.scope).toBe("full");
    expect(await refusal(paymaster(asked(await paid(), { ...ephemeral, scope: "full" })))).toBe("UserSignatureInvalid");
  });
});

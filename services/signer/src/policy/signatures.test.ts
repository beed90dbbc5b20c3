import { envelopeMessage, type FlowTransaction } from "@countersign/flow";
import { generateKeyPair, verifySignature } from "@countersign/keys/node";
import { simulatedPasskey } from "@countersign/keys/testing";
import { describe, expect, it, vi } from "vitest";
import {
  account,
  asked,
  byDevice,
  byPasskey,
  device,
  paymaster,
  refusal,
  state,
  transaction,
  tx,
} from "../testing/policy-fixture.ts";

vi.mock(import("@countersign/keys/node"), async (original) => {
  const keys = await original();
  return { ...keys, verifySignature: vi.fn(keys.verifySignature) };
});

const other = generateKeyPair();
/** Returns one transaction with the payload signatures of several. */
const signedBy = (...signers: FlowTransaction[]) =>
  envelopeMessage({ ...tx(), payloadSignatures: signers.flatMap(({ payloadSignatures }) => payloadSignatures) });
const withExtension = (signed: FlowTransaction, extensionData: string) => ({
  ...signed,
  payloadSignatures: signed.payloadSignatures.map((entry) => ({ ...entry, extensionData })),
});

describe("a payload that a blocked key has signed", () => {
  const refusals = async (message: Uint8Array) => {
    state.blockedKeys = [generateKeyPair().publicKey, other.publicKey];
    state.records = [];
    expect(await refusal(paymaster(asked(message)))).toBe("BlockedKey");
  };

  it("is refused", async () => {
    await refusals(signedBy(byDevice({}, other, 2)));
  });

  it("is refused as a passkey's assertion, for any relying party and of any flags", async () => {
    const passkey = simulatedPasskey(other);
    await refusals(envelopeMessage(byPasskey(passkey)));
    await refusals(envelopeMessage(byPasskey(passkey, { rpId: "evil.example", flags: 0 })));
  });

  it("is refused with extension data of an unknown form: nobody can say who has signed", async () => {
    await refusals(envelopeMessage(withExtension(byDevice(), "02c0")));
  });

  it("is refused by the authorizer where the account pays itself", async () => {
    state.blockedKeys = [device.publicKey];
    const message = envelopeMessage(byDevice({ payer: account.address }));
    expect(await refusal(transaction(asked(message)))).toBe("BlockedKey");
  });

  it.each(["ES256", "ES256K"] as const)("is refused with one of many blocked keys, %s", async (algorithm) => {
    const [last, ...others] = Array.from({ length: 70 }, () => generateKeyPair(algorithm));
    const ofOthers = [generateKeyPair("EdDSA"), generateKeyPair("ES256"), generateKeyPair("ES256K"), ...others];
    state.blockedKeys = ofOthers.map(({ publicKey }) => publicKey);
    await paymaster(asked(signedBy(byDevice())));
    state.blockedKeys.push(last!.publicKey);
    state.records = [];
    expect(await refusal(paymaster(asked(signedBy(byDevice({}, last, 2)))))).toBe("BlockedKey");
  });

  it("is looked for with as many verifications, however many keys are blocked", async () => {
    const verified = async (count: number) => {
      state.blockedKeys = Array.from({ length: count }, () => other.publicKey);
      vi.mocked(verifySignature).mockClear();
      await paymaster(asked(signedBy(byDevice())));
      return vi.mocked(verifySignature).mock.calls.length;
    };
    expect(await verified(500)).toBeLessThanOrEqual(await verified(1));
  });

  it("is looked for in one signature of a message for the paymaster, and in three where the account pays", async () => {
    state.blockedKeys = [other.publicKey];
    const verified = async (sign: Promise<unknown>) => {
      vi.mocked(verifySignature).mockClear();
      await sign.catch(() => undefined);
      return vi.mocked(verifySignature).mock.calls.filter(([key]) => key === other.publicKey).length;
    };
    const thieves = Array.from({ length: 8 }, (_, i) => byDevice({}, generateKeyPair(), i));
    expect(await verified(paymaster(asked(signedBy(...thieves))))).toBe(0);
    expect(await verified(paymaster(asked(signedBy(...thieves.slice(0, 2)))))).toBe(1);
    const payer = account.address;
    const own = (count: number) =>
      envelopeMessage({
        ...tx({ payer }),
        payloadSignatures: thieves.slice(0, count).flatMap((each) => each.payloadSignatures),
      });
    expect(await verified(transaction(asked(own(4))))).toBe(0);
    expect(await verified(transaction(asked(own(3))))).toBe(2);
  });

  it("is none that another key has signed", async () => {
    state.blockedKeys = [other.publicKey];
    await paymaster(asked(signedBy(byDevice())));
    await paymaster(asked(envelopeMessage(byPasskey())));
  });
});

describe("the number of payload signatures", () => {
  const envelope = (count: number) =>
    envelopeMessage({
      ...tx({ payer: account.address }),
      payloadSignatures: Array.from({ length: count }, (_, i) => byDevice({}, device, i + 1).payloadSignatures[0]!),
    });

  it("is three at most", async () => {
    await transaction(asked(envelope(3)));
    state.records = [];
    expect(await refusal(transaction(asked(envelope(4))))).toBe("UserSignatureInvalid");
  });
});

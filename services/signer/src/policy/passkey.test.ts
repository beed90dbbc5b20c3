import { randomBytes } from "node:crypto";
import { envelopeMessage, payloadMessage } from "@countersign/flow";
import { type Said, sha256, simulatedPasskey } from "@countersign/keys/testing";
import { describe, expect, it } from "vitest";
import { asked, byDevice, byPasskey, device, paymaster, policy, refusal, tx } from "../testing/policy-fixture.ts";

const passkey = simulatedPasskey(device);
const other = simulatedPasskey();
const by = (said: Said) => envelopeMessage(byPasskey(passkey, said));

describe("the paymaster, asked with a passkey's signature", () => {
  it("signs the envelope of what the session's passkey has signed", async () => {
    expect(await paymaster(asked(envelopeMessage(byPasskey())))).toMatchObject(policy.paymaster);
  });

  it.each<[string, Uint8Array]>([
    ["another key", envelopeMessage(byPasskey(other))],
    ["another payload", envelopeMessage({ ...byPasskey(), gasLimit: 1000n })],
    ["another origin", by({ client: { origin: "https://evil.example" } })],
    ["another RP id", by({ rpId: "evil.example" })],
    ["nobody present", by({ flags: 0x1c })],
    ["nobody verified", by({ flags: 0x19 })],
    ["the type of a registration", by({ client: { type: "webauthn.create" } })],
    ["a page around the one that asked", by({ client: { crossOrigin: true } })],
    ["a challenge in hex", by({ client: { challenge: sha256(payloadMessage(tx())).toString("hex") } })],
    ["a login's challenge", envelopeMessage(byPasskey(passkey, {}, randomBytes(16)))],
    [
      "half of the digest as a login's challenge",
      envelopeMessage(byPasskey(passkey, {}, sha256(payloadMessage(tx())).subarray(0, 16))),
    ],
    ["the message itself as its challenge", envelopeMessage(byPasskey(passkey, {}, payloadMessage(tx())))],
    [
      "the digest of the payload without its tag",
      envelopeMessage(byPasskey(passkey, {}, sha256(payloadMessage(tx()).subarray(32)))),
    ],
  ])("refuses %s", async (_, message) => {
    expect(await refusal(paymaster(asked(message)))).toBe("UserSignatureInvalid");
  });

  it("refuses an assertion of an app whose relying party it is not", async () => {
    expect(await refusal(paymaster(asked(envelopeMessage(byPasskey()), { appId: "another" })))).toBe(
      "UserSignatureInvalid",
    );
  });

  it("refuses a device's plain signature with a passkey's extension data, and the reverse", async () => {
    const [assertion] = byPasskey().payloadSignatures;
    const [plain] = byDevice().payloadSignatures;
    const { extensionData } = assertion!;
    const mixed = { ...tx(), payloadSignatures: [{ ...plain!, extensionData: extensionData! }] };
    expect(await refusal(paymaster(asked(envelopeMessage(mixed))))).toBe("UserSignatureInvalid");
  });

  it("refuses a passkey's signature without its extension data", async () => {
    const signed = byPasskey();
    const payloadSignatures = signed.payloadSignatures.map(({ extensionData: _, ...plain }) => plain);
    const message = envelopeMessage({ ...signed, payloadSignatures });
    expect(await refusal(paymaster(asked(message)))).toBe("UserSignatureInvalid");
  });
});

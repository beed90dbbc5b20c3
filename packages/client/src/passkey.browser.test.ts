import { verifyAssertion } from "@countersign/keys/node";
import { TEST_RELYING_PARTY } from "@countersign/keys/testing";
import { describe, expect, it } from "vitest";
import { browserPasskey, createBrowserPasskey, PasskeyUnavailableError } from "./browser-passkey.ts";
import { authenticator, browser, publicKey, rawId } from "./testing/browser.ts";

const parties = [TEST_RELYING_PARTY];
const { rpId } = TEST_RELYING_PARTY;

describe("a browser's passkey", () => {
  it("is made with its public key and asked for by its id, the user verified", async () => {
    const { asked, credentials } = browser();
    const passkey = await createBrowserPasskey({ rpId, rpName: "Wallet", userName: "ada@example.com", credentials });
    expect(passkey).toMatchObject({ publicKey, algorithm: "ES256", credentialId: "AQID-g", rpId });
    const login = new Uint8Array(16).fill(7);
    const assertion = await passkey.assert(login);
    expect(verifyAssertion(authenticator.publicKey, assertion, { login }, parties).rpId).toBe(rpId);
    expect(asked).toEqual([
      { challenge: login, rpId, allowCredentials: [{ type: "public-key", id: rawId }], userVerification: "required" },
    ]);
  });

  it("is unavailable without a browser, without an answer, or with a key of another kind", async () => {
    const options = { rpId, rpName: "Wallet", userName: "ada@example.com" };
    await expect(createBrowserPasskey(options)).rejects.toThrow(PasskeyUnavailableError);
    for (const created of [null, { rawId: rawId.buffer, response: { getPublicKey: () => new ArrayBuffer(91) } }]) {
      const credentials = { ...browser().credentials, create: async () => created };
      await expect(createBrowserPasskey({ ...options, credentials })).rejects.toThrow(PasskeyUnavailableError);
    }
    const credentials = { ...browser().credentials, get: async () => null };
    const passkey = browserPasskey({ publicKey, credentialId: "AQID", rpId, credentials });
    await expect(passkey.assert(new Uint8Array(16))).rejects.toThrow(PasskeyUnavailableError);
  });
});

import { bytesToBase64url, bytesToHex, challengeOf } from "@countersign/keys";
import { verifyAssertion } from "@countersign/keys/node";
import { TEST_RELYING_PARTY } from "@countersign/keys/testing";
import { describe, expect, it } from "vitest";
import { browserPasskey } from "./browser-passkey.ts";
import { CountersignClient } from "./countersign-client.ts";
import { generateDeviceKey } from "./node/device-key.ts";
import { signTransaction } from "./sign-transaction.ts";
import { authenticator, browser, publicKey, rawId } from "./testing/browser.ts";
import { type Answer, fakeServer } from "./testing/fake-server.ts";
import { ADDRESS, additionPayload, askedBy, codeOf } from "./testing/two-factor.ts";

const parties = [TEST_RELYING_PARTY];
const { rpId } = TEST_RELYING_PARTY;

function device(...answers: Answer[]) {
  const { credentials } = browser();
  const deviceKey = browserPasskey({ publicKey, credentialId: bytesToBase64url(rawId), rpId, credentials });
  const { seen, fetch } = fakeServer(...answers);
  const session = { accessToken: "access", refreshToken: "refresh" };
  return {
    seen,
    client: new CountersignClient({ baseUrl: "http://gateway.test", deviceKey, fetch, credentials: session }),
  };
}

const signedIn: Answer = [200, { account: {}, transaction: {}, credentials: { accessToken: "a", refreshToken: "r" } }];

describe("a client with a passkey", () => {
  it("signs up with it, and requests enrollment with it", async () => {
    const { client, seen } = device(signedIn, [200, {}]);
    const login = { method: "id_token_channel", token: "t" } as const;
    await client.signUp({ login, chainName: "flow-emulator" });
    await client.requestTwoFactor({ login, chainName: "flow-emulator" });
    const userKey = { type: "passkey", publicKey, algorithm: "ES256", device: { publicKey } };
    expect(seen.map(({ body }) => body)).toMatchObject([{ userKey }, { userKey }]);
  });

  it("signs in by its key, and by name", async () => {
    const challengeData = "0f".repeat(16);
    const { client, seen } = device([200, { challengeData }], signedIn, [200, { challengeData }]);
    await client.signIn({ chainName: "flow-emulator" });
    expect(seen[0]!.body).toMatchObject({ challengeType: "passKey", publicKey });
    const { challengeType, passKey } = seen[1]!.body as { challengeType: string; passKey: Record<string, string> };
    expect(challengeType).toBe("passKey");
    const bytes = (name: string) => Buffer.from(passKey[name]!, "base64url");
    const assertion = {
      clientDataJSON: bytes("clientDataJSON"),
      authenticatorData: bytes("authenticatorData"),
      signature: bytes("signature"),
    };
    const login = Buffer.from(challengeData, "hex");
    expect(verifyAssertion(authenticator.publicKey, assertion, { login }, parties).rpId).toBe(rpId);
    await client.requestChallenge({ chainName: "flow-emulator", username: "ada@example.com" });
    expect(seen[2]!.body).toEqual({
      challengeType: "passKey",
      request: { chainName: "flow-emulator" },
      passKey: { username: "ada@example.com" },
    });
  });

  it("answers no challenge that could be a transaction's digest", async () => {
    const { client, seen } = device();
    await expect(client.respondChallenge({ challengeData: "0f".repeat(32) })).rejects.toThrow(TypeError);
    expect(seen).toEqual([]);
  });

  it("approves with its assertion over the message", async () => {
    const asking = generateDeviceKey();
    const auth = askedBy(asking);
    const me: Answer = [
      200,
      { account: { id: auth.accountId, addresses: [{ chainType: "cadence", address: `0x${ADDRESS}` }] } },
    ];
    const { client, seen } = device(me, [200, { twoFactorAuth: auth }], [204]);
    await client.approveTwoFactor(auth.id, { matchingCode: codeOf(asking) });
    const body = seen[2]!.body as Record<"signature" | "clientDataJSON" | "authenticatorData", string>;
    const assertion = {
      clientDataJSON: Buffer.from(body.clientDataJSON, "base64url"),
      authenticatorData: Buffer.from(body.authenticatorData, "base64url"),
      signature: Buffer.from(body.signature, "hex"),
    };
    const transaction = Buffer.from(auth.request.message, "hex");
    expect(verifyAssertion(authenticator.publicKey, assertion, { transaction }, parties).rpId).toBe(rpId);
  });

  it("signs transactions with extension data, which the payer's envelope covers", async () => {
    const composite = (keyId: number): Answer => [
      200,
      { signature: { addr: `0x${ADDRESS}`, keyId, signature: "ab".repeat(64) } },
    ];
    const { client, seen } = device(composite(0), composite(3));
    const payload = additionPayload(generateDeviceKey());
    const { payloadSignatures } = await signTransaction(client, payload, "flow-emulator", 1);
    const [own] = payloadSignatures;
    expect(own).toMatchObject({ keyId: 1, signature: expect.stringMatching(/^[0-9a-f]{128}$/) });
    expect(own!.extensionData).toMatch(/^01f8/);
    expect((seen[1]!.body as { message: string }).message).toContain(own!.extensionData);
    const { message } = seen[0]!.body as { message: string };
    const challenge = bytesToBase64url(challengeOf({ transaction: Buffer.from(message, "hex") }));
    expect(own!.extensionData).toContain(bytesToHex(Buffer.from(challenge)));
  });
});

import { createHash, X509Certificate } from "node:crypto";
import { createAppAttest } from "@countersign/local-stack/testing/attestations.ts";
import { beforeAll, describe, expect, it } from "vitest";
import { verifyAppAttest } from "./app-attest.ts";
import { APPLE_APP_ATTESTATION_ROOT } from "./apple-root.ts";

const now = new Date("2026-11-20T10:00:00Z");
const HOUR_MS = 3_600_000;
const app = { teamId: "A1B2C3D4E5", bundleIds: ["com.example.other", "com.example.wallet"] };
const APP_ID = "A1B2C3D4E5.com.example.wallet";
const hash = createHash("sha256").update("a request").digest();
const invalid = (detail: string) =>
  expect.objectContaining({ reason: "InvalidAttestation", detail: `App Attest: ${detail}` });
const ANOTHER_REQUEST = "it is about another request: login token, keys, chain and operation must be those of this one";

describe("Apple's published example (Attestation Object Validation Guide)", () => {
  // The receipt, which only Apple's servers read, is zeros here.
  const toReceipt =
    "o2NmbXRvYXBwbGUtYXBwYXR0ZXN0Z2F0dFN0bXSiY3g1Y4JZBCEwggQdMIIDo6ADAgECAgYBnbE/C04wCgYIKoZIzj0EAwIwTzEjMCEGA1UEAwwaQXBwbGUgQXBwIEF0dGVzdGF0aW9uIENBIDExEzARBgNVBAoMCkFwcGxlIEluYy4xEzARBgNVBAgMCkNhbGlmb3JuaWEwHhcNMjYwNDIwMTgxMzEyWhcNMjYwNDIzMTgxMzEyWjCBkTFJMEcGA1UEAwxAY2UwNDk4ZjU4NDgzZmJiNGRhMGQ3YjJjNjNhNWE1MzhmNTUyZDRhZGNiOWE0ZmE5MTYxOTVjNDk2MTNlNjU1ZDEaMBgGA1UECwwRQUFBIENlcnRpZmljYXRpb24xEzARBgNVBAoMCkFwcGxlIEluYy4xEzARBgNVBAgMCkNhbGlmb3JuaWEwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARDMlRKzzI9t3REPKrzOfVufpXHJPrCwUJZ82XiRFZQsrX7KFvPVJvLYFlEEudoKiQn7q2p+1Lf7QsasX7Qn6m9o4ICJjCCAiIwDAYDVR0TAQH/BAIwADAOBgNVHQ8BAf8EBAMCBPAwFAYDVR0lBA0wCwYJKoZIhvdjZAQYMHoGCSqGSIb3Y2QIBQRtMGukAwIBCr+JMAMCAQC/iTEDAgEAv4kyAwIBAL+JMwMCAQC/iTQeBBwxMjM0NTY3ODkwLmNvbS5leGFtcGxlLm15YXBwv4k2AwIBBL+JNwMCAQC/iTkDAgEAv4k6AwIBAL+JOwMCAQCqAwIBADCB4AYJKoZIhvdjZAgHBIHSMIHPv4p4BgQEMjcuML+IUAMCAQK/inkJBAcxLjAuMjE2v4p7CQQHMjRBMzI1Yr+KfAYEBDI3LjC/in0GBAQyNy4wv4p+AwIBAL+KfwMCAQC/iwADAgEAv4sBAwIBAL+LAgMCAQC/iwMDAgEAv4sEAwIBAb+LBQMCAQC/iwoQBA4yNC4xLjMyNS4wLjIsML+LCxAEDjI0LjEuMzI1LjAuMiwwv4sMEAQOMjQuMS4zMjUuMC4yLDC/iAIKBAhpcGhvbmVvc7+IBQoECEludGVybmFsMDMGCSqGSIb3Y2QIAgQmMCShIgQgh7fQbZOkKU5G8BHma2zEAPC6sgcpl2xhlYC0KuYL/24wWAYJKoZIhvdjZAgGBEswSaNHBEUwQwwCMTEwPTAKDANva2ShAwEB/zAJDAJvYaEDAQH/MAsMBG9zZ26hAwEB/zALDARvZGVsoQMBAf8wCgwDb2NroQMBAf8wCgYIKoZIzj0EAwIDaAAwZQIwIbzHaPbRKcm2sa4JvDWyTX40yz9U2byxFxTho+HIM0HeYwF3HLyA3Nrqv3WDy/UdAjEApOoxL7zeQV0yhvasPe31+c1ZYuEDxEU6rDrheFcVMRZepvV10+hFxgIWVMSpQu09WQJHMIICQzCCAcigAwIBAgIQCbrF4bxAGtnUU5W8OBoIVDAKBggqhkjOPQQDAzBSMSYwJAYDVQQDDB1BcHBsZSBBcHAgQXR0ZXN0YXRpb24gUm9vdCBDQTETMBEGA1UECgwKQXBwbGUgSW5jLjETMBEGA1UECAwKQ2FsaWZvcm5pYTAeFw0yMDAzMTgxODM5NTVaFw0zMDAzMTMwMDAwMDBaME8xIzAhBgNVBAMMGkFwcGxlIEFwcCBBdHRlc3RhdGlvbiBDQSAxMRMwEQYDVQQKDApBcHBsZSBJbmMuMRMwEQYDVQQIDApDYWxpZm9ybmlhMHYwEAYHKoZIzj0CAQYFK4EEACIDYgAErls3oHdNebI1j0Dn0fImJvHCX+8XgC3qs4JqWYdP+NKtFSV4mqJmBBkSSLY8uWcGnpjTY71eNw+/oI4ynoBzqYXndG6jWaL2bynbMq9FXiEWWNVnr54mfrJhTcIaZs6Zo2YwZDASBgNVHRMBAf8ECDAGAQH/AgEAMB8GA1UdIwQYMBaAFKyREFMzvb5oQf+nDKnl+url5YqhMB0GA1UdDgQWBBQ+410cBBmpybQx+IR01uHhV3LjmzAOBgNVHQ8BAf8EBAMCAQYwCgYIKoZIzj0EAwMDaQAwZgIxALu+iI1zjQUCz7z9Zm0JV1A1vNaHLD+EMEkmKe3R+RToeZkcmui1rvjTqFQz97YNBgIxAKs47dDMge0ApFLDukT5k2NlU/7MKX8utN+fXr5aSsq2mVxLgg35BDhveAe7WJQ5t2dyZWNlaXB0WQ+J";
  const fromReceipt =
    "AABoYXV0aERhdGFY4vRGbWj5HrbBBiDLfmPHKDJEaF7h1kZ7VBYOdTFyBX8DQAAAAABhcHBhdHRlc3QAAAAAAAAAACDOBJj1hIP7tNoNeyxjpaU49VLUrcuaT6kWGVxJYT5lXaUBAgMmIAEhWCBDMlRKzzI9t3REPKrzOfVufpXHJPrCwUJZ82XiRFZQsiJYILX7KFvPVJvLYFlEEudoKiQn7q2p+1Lf7QsasX7Qn6m9ondhcHBsZV9idW5kbGVfdmVyc2lvbl8wMWExeBxhcHBsZV92YWxpZGF0aW9uX2NhdGVnb3J5XzAxRAEAAAA=";
  const object = Buffer.concat([
    Buffer.from(toReceipt, "base64"),
    Buffer.alloc(3977 - 2),
    Buffer.from(fromReceipt, "base64"),
  ]);
  const example = {
    type: "app-attest",
    keyId: "zgSY9YSD+7TaDXssY6WlOPVS1K3Lmk+pFhlcSWE+ZV0=",
    token: object.toString("base64"),
  } as const;
  // The example attests the challenge itself, not its hash.
  const challenge = Buffer.from("example_server_challenge");
  const day = new Date("2026-04-21T18:13:12Z");
  const root = new X509Certificate(APPLE_APP_ATTESTATION_ROOT);
  const published = {
    teamId: "1234567890",
    bundleIds: ["com.example.myapp"],
    environment: "production",
    root,
  } as const;

  it("is accepted on its day, from Apple's root", async () => {
    expect(root.fingerprint256.replaceAll(":", "").toLowerCase()).toBe(
      "1cb9823ba28ba6ad2d33a006941de2ae4f513ef1d4e831b9f7e0fa7b6242c932",
    );
    expect(object).toHaveLength(5906);
    expect(await verifyAppAttest(published)(example, challenge, day)).toBe(example.keyId);
  });

  it("is refused after its days, for another challenge, app, environment or key, and from another root", async () => {
    const refused = async (detail: string, change: object = {}, hashed: Uint8Array = challenge, at = day) =>
      expect(verifyAppAttest({ ...published, ...change })(example, hashed, at)).rejects.toEqual(invalid(detail));
    await refused("a certificate is not valid now", {}, challenge, new Date("2026-04-24T00:00:00Z"));
    await refused("a certificate is not valid now", {}, challenge, new Date("2026-04-20T00:00:00Z"));
    await refused(ANOTHER_REQUEST, {}, Buffer.from("example_server_challengf"));
    await refused("it is of another app", { teamId: "1234567891" });
    await refused("it is of another app", { bundleIds: ["com.example.myapp2"] });
    await refused("it is not of the development environment", { environment: "development" });
    const other = new X509Certificate((await createAppAttest(day)).root);
    await refused("the certificates do not lead to the root", { root: other });
    const keyId = Buffer.alloc(32, 7).toString("base64");
    await expect(verifyAppAttest(published)({ ...example, keyId }, challenge, day)).rejects.toEqual(
      invalid("keyId is not the attested key's"),
    );
  });
});

describe("an attestation", () => {
  let authority: Awaited<ReturnType<typeof createAppAttest>>;
  let verify: ReturnType<typeof verifyAppAttest>;
  beforeAll(async () => {
    authority = await createAppAttest(now);
    verify = verifyAppAttest({ ...app, environment: "production", root: new X509Certificate(authority.root) });
  });
  const refused = async (
    detail: string,
    change: Parameters<typeof authority.attest>[2],
    appId = APP_ID,
    { attest } = authority,
  ) => expect(verify(await attest(appId, hash, change), hash, now)).rejects.toEqual(invalid(detail));

  it("of any of the app's bundles is accepted, and its id is the key's", async () => {
    for (const appId of [APP_ID, "A1B2C3D4E5.com.example.other"]) {
      const attestation = await authority.attest(appId, hash);
      expect(await verify(attestation, hash, now)).toBe(attestation.keyId);
    }
  });

  it("of another app or environment is refused", async () => {
    await refused("it is of another app", {}, "A1B2C3D4E5.com.example.wallet2");
    await refused("it is of another app", {}, "B1B2C3D4E5.com.example.wallet");
    await refused("it is not of the production environment", { environment: "development" });
  });

  it("with a foreign root, signed by itself, or through a certificate that is no authority's is refused", async () => {
    const problem = "the certificates do not lead to the root";
    await refused(problem, {}, APP_ID, await createAppAttest(now));
    await refused(problem, { isSelfSigned: true });
    await refused(problem, { isNoAuthority: true });
  });

  it("with more or fewer than two certificates, or bytes after one, is refused", async () => {
    const problem = "this is no attestation object";
    // Of a leaf alone, the chain would end before the root.
    await refused(problem, { isSelfSigned: true, certificates: (leaf) => [leaf] });
    await refused(problem, { certificates: (leaf, intermediate) => [leaf, intermediate, intermediate] });
    await refused(problem, {
      certificates: (leaf, intermediate) => [Buffer.concat([leaf, Buffer.of(0)]), intermediate],
    });
  });

  it("with a certificate that has expired or is not valid yet is refused", async () => {
    await refused("a certificate is not valid now", { validMs: [-HOUR_MS, -1_000] });
    await refused("a certificate is not valid now", { validMs: [1_000, HOUR_MS] });
    const attestation = await authority.attest(APP_ID, hash, { validMs: [-HOUR_MS, 24 * HOUR_MS] });
    // The leaf is valid; the root is not any more.
    await expect(verify(attestation, hash, new Date(now.getTime() + 2 * HOUR_MS))).rejects.toEqual(
      invalid("a certificate is not valid now"),
    );
  });

  it("of another request is refused", async () => {
    const attestation = await authority.attest(APP_ID, hash);
    const other = createHash("sha256").update("another request").digest();
    await expect(verify(attestation, other, now)).rejects.toEqual(invalid(ANOTHER_REQUEST));
    await refused("the certificate has no nonce", { hasNoNonce: true });
  });

  it("with a used key, or of another key than it says, is refused", async () => {
    await refused("the key's counter is not 0", { counter: 1 });
    await refused("the credential is another key", { credentialId: Buffer.alloc(32, 7) });
    await refused("the credential is another key", { credentialId: Buffer.alloc(33, 7) });
    await refused("the authenticator data is too short", { credentialId: Buffer.alloc(16, 7) });
    const [one, other] = [await authority.attest(APP_ID, hash), await authority.attest(APP_ID, hash)];
    await expect(verify({ ...one, keyId: other.keyId }, hash, now)).rejects.toEqual(
      invalid("keyId is not the attested key's"),
    );
    for (const keyId of ["", "!", one.keyId.replace("=", "")]) {
      await expect(verify({ ...one, keyId }, hash, now)).rejects.toMatchObject({ reason: "InvalidAttestation" });
    }
  });

  it("that is not exactly one object of CBOR is refused, and nothing crashes", async () => {
    await refused("this is no attestation object", { trailing: Buffer.of(0) });
    await refused("this is no attestation object", { format: "packed" });
    const { token, ...rest } = await authority.attest(APP_ID, hash);
    const bytes = Buffer.from(token, "base64");
    const broken = [
      Buffer.alloc(0),
      bytes.subarray(0, bytes.length - 1),
      bytes.subarray(1),
      // Arrays in arrays, deeper than any stack; and a text and an array that are longer than the input.
      Buffer.alloc(12_000, 0x81),
      Buffer.from("7affffffff", "hex"),
      Buffer.from("9affffffff00", "hex"),
      Buffer.from("a363666d746f6170706c652d6170706174746573746761747453746d74a0", "hex"),
    ];
    for (const each of broken) {
      const attestation = { ...rest, token: each.toString("base64") };
      await expect(verify(attestation, hash, now)).rejects.toEqual(invalid("this is no attestation object"));
    }
    await expect(verify({ ...rest, token: `${token} ` }, hash, now)).rejects.toEqual(
      invalid("the attestation object is not base64"),
    );
  });

  it("of which any one byte was changed is refused", async () => {
    const { token, ...rest } = await authority.attest(APP_ID, hash);
    const bytes = Buffer.from(token, "base64");
    const names = bytes.indexOf("receipt");
    for (let at = 0; at < bytes.length; at += 7) {
      // The name of the receipt, which is not read.
      if (at >= names && at < names + "receipt".length) continue;
      const changed = Buffer.from(bytes);
      changed[at]! ^= 1;
      const attestation = { ...rest, token: changed.toString("base64") };
      await expect(verify(attestation, hash, now), `byte ${at}`).rejects.toMatchObject({
        reason: "InvalidAttestation",
      });
    }
  });
});

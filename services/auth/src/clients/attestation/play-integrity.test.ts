import { createHash, createPublicKey, createSecretKey } from "node:crypto";
import { createPlayIntegrity, integrityPayload } from "@countersign/local-stack/testing/attestations.ts";
import { beforeAll, describe, expect, it } from "vitest";
import { type PlayIntegrityApp, verifyPlayIntegrity } from "./play-integrity.ts";

const now = new Date("2026-11-20T10:00:00Z");
const hash = createHash("sha256").update("a request").digest();
const nonce = hash.toString("base64url");
const DIGEST = createHash("sha256").update("certificate").digest("base64url");
const PACKAGE = "com.example.wallet";
const NO_TOKEN = "this is no token of a classic request, or it is of another app's keys";

let google: Awaited<ReturnType<typeof createPlayIntegrity>>;
let app: PlayIntegrityApp;
const keysOf = ({ decryptionKey, verificationKey }: typeof google) => ({
  decryptionKey: createSecretKey(Buffer.from(decryptionKey, "base64")),
  verificationKey: createPublicKey({ key: Buffer.from(verificationKey, "base64"), format: "der", type: "spki" }),
});
beforeAll(async () => {
  google = await createPlayIntegrity();
  app = {
    packageName: PACKAGE,
    certificateDigests: [DIGEST],
    verdicts: ["PLAY_RECOGNIZED", "LICENSED", "MEETS_DEVICE_INTEGRITY"],
    ...keysOf(google),
  };
});

const verify = (token: string, change: Partial<PlayIntegrityApp> = {}, at = now, about: Uint8Array = hash) =>
  verifyPlayIntegrity({ ...app, ...change })({ type: "play-integrity", keyId: "", token }, about, at);
const good = () => integrityPayload(PACKAGE, DIGEST, nonce, now);
const invalid = (detail: string) =>
  expect.objectContaining({ reason: "InvalidAttestation", detail: `Play Integrity: ${detail}` });
const refused = async (token: string | Promise<string>, detail: string) =>
  expect(verify(await token)).rejects.toEqual(invalid(detail));

it("a token with the payload of Google's documentation is accepted", async () => {
  const payload = {
    requestDetails: {
      requestPackageName: "com.package.name",
      nonce: "aGVsbG8gd29scmQgdGhlcmU",
      timestampMillis: "1675655009345",
    },
    appIntegrity: {
      appRecognitionVerdict: "PLAY_RECOGNIZED",
      packageName: "com.package.name",
      certificateSha256Digest: ["6a6a1474b5cbbb2b1aa57e0bc3"],
      versionCode: "42",
    },
    deviceIntegrity: { deviceRecognitionVerdict: ["MEETS_DEVICE_INTEGRITY"] },
    accountDetails: { appLicensingVerdict: "LICENSED" },
  };
  const change = { packageName: "com.package.name", certificateDigests: ["6a6a1474b5cbbb2b1aa57e0bc3"] };
  const at = new Date(1675655009345 + 1_000);
  expect(await verify(await google.token(payload), change, at, Buffer.from("hello wolrd there"))).toBe(
    "aGVsbG8gd29scmQgdGhlcmU",
  );
});

describe("a token", () => {
  it("of this request is accepted, and its id is the nonce; with padding it is the same", async () => {
    expect(await verify(await google.token(good()))).toBe(nonce);
    const padded = { ...good(), requestDetails: { ...good().requestDetails, nonce: `${nonce}=` } };
    expect(await verify(await google.token(padded))).toBe(nonce);
  });

  it("that was changed, or is no token, is refused", async () => {
    const token = await google.token(good());
    const parts = token.split(".");
    for (const [at, part] of parts.entries()) {
      const changed = `${part[0] === "A" ? "B" : "A"}${part.slice(1)}`;
      await refused(parts.with(at, changed).join("."), NO_TOKEN);
    }
    for (const none of ["", "a.b.c", "a.b.c.d.e", token.slice(0, -1), `${token}.x`, "x".repeat(16_384)]) {
      await refused(none, NO_TOKEN);
    }
  });

  it("of other keys is refused, and so is a signed one without encryption", async () => {
    await refused((await createPlayIntegrity()).token(good()), NO_TOKEN);
    const stolen = {
      ...app,
      decryptionKey: app.decryptionKey,
      verificationKey: keysOf(await createPlayIntegrity()).verificationKey,
    };
    await expect(verify(await google.token(good()), stolen)).rejects.toEqual(invalid(NO_TOKEN));
  });

  it("with another algorithm is refused, at both layers", async () => {
    await refused(google.token(good(), { jwsAlg: "none" }), NO_TOKEN);
    await refused(google.token(good(), { jwsAlg: "HS256" }), NO_TOKEN);
    await refused(google.token(good(), { jweAlg: "dir" }), NO_TOKEN);
    await refused(google.token(good(), { jweAlg: "A256GCMKW" }), NO_TOKEN);
    await refused(google.token(good(), { jweEnc: "A256CBC-HS512" }), NO_TOKEN);
  });

  it("whose payload is not the documented one is refused", async () => {
    const { appIntegrity, ...rest } = good();
    const { certificateSha256Digest: _, ...unevaluated } = appIntegrity;
    const atNoTime = { ...good(), requestDetails: { ...good().requestDetails, timestampMillis: "now" } };
    const wrong = ["", "[]", "null", "{", rest, { ...rest, appIntegrity: unevaluated }, atNoTime];
    for (const payload of wrong) await refused(google.token(payload), NO_TOKEN);
    await refused(
      google.token({ ...good(), appIntegrity: { ...appIntegrity, certificateSha256Digest: [] } }),
      NO_TOKEN,
    );
  });

  it("of another package or certificate is refused", async () => {
    const { appIntegrity, requestDetails } = good();
    const packageName = "com.example.thief";
    await refused(google.token({ ...good(), appIntegrity: { ...appIntegrity, packageName } }), "it is of another app");
    const spoofed = { ...requestDetails, requestPackageName: packageName };
    await refused(google.token({ ...good(), requestDetails: spoofed }), "it is of another app");
    const other = createHash("sha256").update("another certificate").digest("base64url");
    for (const certificateSha256Digest of [[other], [DIGEST, other]]) {
      const signed = { ...appIntegrity, certificateSha256Digest };
      await refused(google.token({ ...good(), appIntegrity: signed }), "the app is signed with another certificate");
    }
  });

  it("of another request is refused", async () => {
    const another = createHash("sha256").update("another request").digest("base64url");
    await refused(
      google.token(integrityPayload(PACKAGE, DIGEST, another, now)),
      "it is about another request: login token, keys, chain and operation must be those of this one",
    );
  });

  it("that is older than ten minutes, or of the future, is refused", async () => {
    const at = (ms: number) => google.token(integrityPayload(PACKAGE, DIGEST, nonce, new Date(now.getTime() + ms)));
    expect(await verify(await at(-600_000))).toBe(nonce);
    expect(await verify(await at(60_000))).toBe(nonce);
    await refused(at(-600_001), "it is not of the last ten minutes");
    await refused(at(60_001), "it is not of the last ten minutes");
  });

  it("without a required verdict is refused", async () => {
    const { appIntegrity } = good();
    const unknown = { ...appIntegrity, appRecognitionVerdict: "UNRECOGNIZED_VERSION" };
    await refused(google.token({ ...good(), appIntegrity: unknown }), "the verdict lacks PLAY_RECOGNIZED");
    const device = { ...good(), deviceIntegrity: { deviceRecognitionVerdict: ["MEETS_BASIC_INTEGRITY"] } };
    await refused(google.token(device), "the verdict lacks MEETS_DEVICE_INTEGRITY");
    await refused(google.token({ ...good(), deviceIntegrity: {} }), "the verdict lacks MEETS_DEVICE_INTEGRITY");
    const { accountDetails: _, ...unlicensed } = good();
    await refused(google.token(unlicensed), "the verdict lacks LICENSED");
    await expect(
      verify(await google.token(good()), { verdicts: ["MEETS_STRONG_INTEGRITY", "LICENSED"] }),
    ).rejects.toEqual(invalid("the verdict lacks MEETS_STRONG_INTEGRITY"));
  });

  it("of a tester, whose verdicts the Play console makes, is refused", async () => {
    const payload = { ...good(), testingDetails: { isTestingResponse: true } };
    await refused(google.token(payload), "it is a tester's, with verdicts that the Play console made");
  });
});

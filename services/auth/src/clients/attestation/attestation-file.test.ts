import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createAppAttest,
  createPlayIntegrity,
  integrityPayload,
} from "@countersign/local-stack/testing/attestations.ts";
import { readOnce } from "@countersign/runtime";
import { afterAll, beforeAll, expect, it } from "vitest";
import { watchAttestation } from "./attestation-file.ts";

const folder = mkdtempSync(join(tmpdir(), "attestation-"));
afterAll(() => rmSync(folder, { recursive: true }));
const put = (name: string, content: string) => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

const hash = createHash("sha256").update("a request").digest();
const DIGEST = createHash("sha256").update("certificate").digest("base64url");
const client = {
  clientId: "c",
  appId: "wallet",
  appName: "Wallet",
  keyBinding: "required",
  redirectUris: ["https://wallet.example/"],
};
const providersPath = put(
  "providers.json",
  JSON.stringify({ providers: [{ name: "p", issuer: "https://p.example", clients: [client] }] }),
);
const apple = { teamId: "A1B2C3D4E5", bundleIds: ["com.example.wallet"] };

let authority: Awaited<ReturnType<typeof createAppAttest>>;
let google: Awaited<ReturnType<typeof createPlayIntegrity>>;
let ios: object;
let android: object;
beforeAll(async () => {
  authority = await createAppAttest();
  google = await createPlayIntegrity();
  ios = { ...apple, rootFile: put("root.pem", authority.root) };
  android = {
    packageName: "com.example.wallet",
    certificateDigests: [DIGEST],
    decryptionKeyFile: put("decryption.key", `${google.decryptionKey}\n`),
    verificationKeyFile: put("verification.key", google.verificationKey),
  };
});

const load = (apps: object[], isProduction = false) =>
  watchAttestation(readOnce, { path: put("attestation.json", JSON.stringify({ apps })), providersPath, isProduction });
const verified = async (apps: object[], platform: "ios" | "android", lacking = "") => {
  const payload = integrityPayload("com.example.wallet", DIGEST, hash.toString("base64url"));
  const lacked = JSON.parse(JSON.stringify(payload).replace(`"${lacking}"`, '"UNEVALUATED"'));
  const attestation =
    platform === "ios"
      ? await authority.attest("A1B2C3D4E5.com.example.wallet", hash)
      : { type: "play-integrity" as const, keyId: "", token: await google.token(lacked) };
  return load(apps).current().get("wallet")!(attestation, hash, new Date());
};

it("without a file, and in mode off, no app has a policy", () => {
  expect(watchAttestation(readOnce, { path: undefined, providersPath, isProduction: true }).current().size).toBe(0);
  expect(load([{ appId: "wallet", mode: "off", appAttest: apple }], true).current().size).toBe(0);
});

it("an app takes the attestations of its own platforms", async () => {
  const both = { appId: "wallet", mode: "required", appAttest: ios, playIntegrity: android };
  expect(await verified([both], "ios")).toMatch(/=$/);
  expect(await verified([both], "android")).toBe(hash.toString("base64url"));
});

it("an app refuses the attestations of a platform that it does not have", async () => {
  const refused = (type: string) => ({
    reason: "InvalidAttestation",
    detail: `App "wallet" takes no attestations of ${type}`,
  });
  await expect(verified([{ appId: "wallet", mode: "required", appAttest: ios }], "android")).rejects.toMatchObject(
    refused("play-integrity"),
  );
  await expect(verified([{ appId: "wallet", mode: "required", playIntegrity: android }], "ios")).rejects.toMatchObject(
    refused("app-attest"),
  );
});

it("an app that names no verdicts requires that Google Play knows the app, its license and the device", async () => {
  const app = { appId: "wallet", mode: "required", playIntegrity: android };
  for (const verdict of ["PLAY_RECOGNIZED", "LICENSED", "MEETS_DEVICE_INTEGRITY"])
    await expect(verified([app], "android", verdict)).rejects.toMatchObject({
      detail: `Play Integrity: the verdict lacks ${verdict}`,
    });
});

it("a file that would protect less than it says is refused", () => {
  const wallet = { appId: "wallet", mode: "required", appAttest: apple };
  load([wallet], true);
  expect(() => load([{ ...wallet, appId: "walet" }])).toThrow("apps.0.appId: no client of AUTH_PROVIDERS_FILE has it");
  expect(() => load([wallet, wallet])).toThrow("apps.1.appId: is there twice");
  expect(() => load([{ ...wallet, mode: undefined }])).toThrow("mode");
  expect(() => load([{ ...wallet, mode: "monitor" }])).toThrow("mode");
  expect(() => load([{ appId: "wallet", mode: "required" }])).toThrow("Neither appAttest nor playIntegrity");
  expect(() => load([{ ...wallet, appAttest: { ...apple, bundleIds: [] } }])).toThrow("bundleIds");
  expect(() => load([{ ...wallet, appAttest: { ...apple, enviroment: "development" } }])).toThrow("enviroment");
  const play = (change: object) => () =>
    load([{ appId: "wallet", mode: "required", playIntegrity: { ...android, ...change } }]);
  expect(play({ verdicts: [] })).toThrow("verdicts");
  expect(play({ verdicts: ["MEETS_MY_EXPECTATIONS"] })).toThrow("verdicts");
  expect(play({ certificateDigests: ["00"] })).toThrow("certificateDigests");
  expect(play({ decryptionKeyFile: put("short.key", "AAAA") })).toThrow(
    "short.key: is not a key of 32 bytes in base64",
  );
  expect(play({ verificationKeyFile: put("none.key", "AAAA") })).toThrow(
    "none.key: is not a public key of P-256 (SPKI) in base64",
  );
});

it("in production there is no root but Apple's", () => {
  const app = { appId: "wallet", mode: "required", appAttest: ios };
  load([app]);
  expect(() => load([app], true)).toThrow("appAttest.rootFile: is for tests, never for production");
});

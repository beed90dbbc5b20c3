import { randomBytes } from "node:crypto";
import type { PublicKey } from "@countersign/keys";
import { publicKeyOf, verifySignature } from "@countersign/keys/node";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createAuditWriter } from "./audit-writer.ts";
import { awsKms } from "./aws-kms.ts";
import { crc32c, gcpKms } from "./gcp-kms.ts";
import type { KeyHolder } from "./key-holder.ts";
import { createKeystoreVault } from "./keystore-vault.ts";
import { createRoutedVault } from "./routed-vault.ts";
import { type FakeKeyServices, startFakeKeyServices } from "./testing/fake-key-services.ts";

const chainName = "flow-mainnet";
const digest = randomBytes(32);
const gcpId = "projects/p/locations/l/keyRings/r/cryptoKeys/paymaster/cryptoKeyVersions/1";

let fake: FakeKeyServices;
let holders: Record<string, { holder: KeyHolder; id: string; secp: string }>;
beforeAll(async () => {
  fake = await startFakeKeyServices();
  const { endpoint } = fake;
  holders = {
    aws: { holder: awsKms({ region: "eu-central-1", endpoint }), id: "alias/paymaster", secp: "secp" },
    gcp: {
      holder: gcpKms({ endpoint, accessToken: async () => "token" }),
      id: gcpId,
      secp: gcpId.replace("paymaster", "secp"),
    },
  };
});
afterEach(() => {
  fake.faults.damage = {};
});
afterAll(async () => {
  for (const { holder } of Object.values(holders)) holder.close();
  await fake.close();
});

describe.each(["aws", "gcp"])("the key service %s, by a fake of its interface", (name) => {
  it("answers its public key and signs digests in the form of the chain", async () => {
    const { holder, id } = holders[name]!;
    expect(await holder.publicKey(id)).toEqual(publicKeyOf(fake.key.publicKey));
    const message = Buffer.from("a message");
    const vault = await createRoutedVault(createKeystoreVault({ rootSecret: "00".repeat(32), chains: {} }), [
      { role: "paymaster", chainName, version: 1, holder, id },
    ]);
    const signature = await vault.sign({ role: "paymaster", chainName }, message);
    expect(signature).toHaveLength(64);
    expect(verifySignature(publicKeyOf(fake.key.publicKey), message, signature, "sha3-256")).toBe(true);
  });

  it("certifies a process's key for audit records, once, and signs batches without being asked again", async () => {
    const { holder, id } = holders[name]!;
    const vault = await createRoutedVault(createKeystoreVault({ rootSecret: "00".repeat(32), chains: {} }), [
      { role: "audit", version: 3, holder, id },
    ]);
    const before = fake.requests.length;
    let processKey: PublicKey | undefined;
    const writer = await createAuditWriter(vault, (publicKey, version) => {
      processKey = publicKey;
      return JSON.stringify([version, publicKey]);
    });
    expect(fake.requests).toHaveLength(before + 1);
    const { text, signature } = writer.certificate;
    expect(JSON.parse(text)).toEqual([3, processKey]);
    const audit = publicKeyOf(fake.key.publicKey);
    expect(verifySignature(audit, Buffer.from(text), Buffer.from(signature, "hex"), "sha256")).toBe(true);
    const batch = Buffer.from("a batch");
    expect(verifySignature(processKey!, batch, await writer.sign(batch), "sha256")).toBe(true);
    expect(fake.requests).toHaveLength(before + 1);
  });

  it("refuses a key of another curve", async () => {
    const { holder, secp } = holders[name]!;
    await expect(holder.publicKey(secp)).rejects.toThrow("is not");
  });

  it("is Unavailable where the service refuses, and does not reveal why", async () => {
    const { holder, id } = holders[name]!;
    fake.faults.down = true;
    await expect(holder.signDigest(id, digest)).rejects.toMatchObject({
      reason: "Unavailable",
      detail: "a vault did not answer",
    });
    fake.faults.down = false;
  });
});

describe("checksums of Google Cloud KMS", () => {
  // RFC 3720, appendix B.4.
  it.each([
    ["32 zeros", Buffer.alloc(32), 0x8a9136aa],
    ["32 bytes of ones", Buffer.alloc(32, 0xff), 0x62a8ab43],
    ["0 to 31", Buffer.from(Array.from({ length: 32 }, (_, i) => i)), 0x46dd794e],
    ["31 to 0", Buffer.from(Array.from({ length: 32 }, (_, i) => 31 - i)), 0x113fdb5c],
  ])("are CRC-32C: %s", (_, bytes, expected) => {
    expect(crc32c(bytes)).toBe(expected);
  });

  it.each<[string, Record<string, unknown>]>([
    ["another signature's checksum", { signatureCrc32c: "1" }],
    ["no checksum", { signatureCrc32c: undefined }],
    ["a checksum that is no number", { signatureCrc32c: "0x1" }],
    ["a digest that arrived damaged", { verifiedDigestCrc32c: false }],
    ["a digest that was not verified", { verifiedDigestCrc32c: undefined }],
    ["another key", { name: gcpId.replace("paymaster", "creator") }],
  ])("no signature leaves with %s", async (_, change) => {
    fake.faults.damage = change;
    await expect(holders.gcp!.holder.signDigest(gcpId, digest)).rejects.toMatchObject({ reason: "Unavailable" });
  });

  it.each<[string, Record<string, unknown>]>([
    ["another key's checksum", { pemCrc32c: "1" }],
    ["no checksum", { pemCrc32c: undefined }],
  ])("no public key is taken with %s", async (_, change) => {
    fake.faults.damage = change;
    await expect(holders.gcp!.holder.publicKey(gcpId)).rejects.toMatchObject({ reason: "Unavailable" });
  });
});

it("AWS is asked with a signature of the request, for a digest; Google with a token", async () => {
  fake.requests.length = 0;
  await holders.aws!.holder.signDigest("alias/paymaster", digest);
  await holders.gcp!.holder.signDigest(gcpId, digest);
  expect(fake.requests[0]!.headers.authorization).toMatch(
    /^AWS4-HMAC-SHA256 Credential=AKIATEST\/\d{8}\/eu-central-1\/kms\//,
  );
  expect(fake.requests[0]!.body).toEqual({
    KeyId: "alias/paymaster",
    Message: digest.toString("base64"),
    MessageType: "DIGEST",
    SigningAlgorithm: "ECDSA_SHA_256",
  });
  expect(fake.requests[1]).toMatchObject({
    path: `/v1/${gcpId}:asymmetricSign`,
    headers: { authorization: "Bearer token" },
    body: { digest: { sha256: digest.toString("base64") }, digestCrc32c: String(crc32c(digest)) },
  });
});

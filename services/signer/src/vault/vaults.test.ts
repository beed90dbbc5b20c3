import { generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unchanging } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import { publicKeyOf, verifySignature } from "@countersign/keys/node";
import { createLogger, createMetrics, watchFiles } from "@countersign/runtime";
import { p256 } from "@noble/curves/nist.js";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createAuditWriter } from "./audit-writer.ts";
import { awsKms } from "./aws-kms.ts";
import { crc32c, gcpKms } from "./gcp-kms.ts";
import type { KeyHolder } from "./key-holder.ts";
import { addKeyVersion, addServerRoot, ensureKeystore, reEncryptKeystore } from "./keystore-file.ts";
import { createKeystoreVault } from "./keystore-vault.ts";
import { openVaults } from "./open-vaults.ts";
import { createRoutedVault } from "./routed-vault.ts";
import { startVault } from "./start-vault.ts";

const chainName = "flow-mainnet";
const digest = randomBytes(32);
/** Opening a keystore takes a second on a busy machine. */
const LONG = { timeout: 40_000 };

const key = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
const otherKey = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
const otherCurve = generateKeyPairSync("ec", { namedCurve: "secp256k1" });
const spki = ({ publicKey }: { publicKey: KeyObject }) => publicKey.export({ type: "spki", format: "der" });

/** ECDSA over 32 given bytes, as a key service does it; node:crypto would hash them. */
const signBytes = (privateKey: KeyObject, bytes: Uint8Array, format: "der" | "compact"): Buffer =>
  Buffer.from(
    p256.sign(bytes, Buffer.from(privateKey.export({ format: "jwk" }).d!, "base64url"), { prehash: false, format }),
  );

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return parts.length === 0 ? {} : JSON.parse(Buffer.concat(parts).toString());
}

const requests: { path: string; headers: IncomingMessage["headers"]; body: Record<string, unknown> }[] = [];
let down = false;
/** Wrong values in an answer of the fake Google service. */
let damage: Record<string, unknown> = {};
afterEach(() => {
  damage = {};
});

/** Both services' interfaces as their references describe them. */
const fakeService: Server = createServer(async (request, response) => {
  const body = await bodyOf(request);
  const path = request.url!;
  requests.push({ path, headers: request.headers, body });
  const answer = (status: number, value: object) => {
    response.writeHead(status, { "content-type": "application/x-amz-json-1.1" }).end(JSON.stringify(value));
  };
  if (down) return answer(400, { __type: "KMSInvalidStateException", message: "pending deletion" });
  const target = request.headers["x-amz-target"];
  const pair = body.KeyId === "secp" || path.includes("secp") ? otherCurve : key;
  if (target === "TrentService.GetPublicKey") {
    const KeySpec = pair === key ? "ECC_NIST_P256" : "ECC_SECG_P256K1";
    return answer(200, {
      KeyId: body.KeyId,
      PublicKey: spki(pair).toString("base64"),
      KeySpec,
      KeyUsage: "SIGN_VERIFY",
    });
  }
  if (target === "TrentService.Sign") {
    const Signature = signBytes(key.privateKey, Buffer.from(String(body.Message), "base64"), "der").toString("base64");
    return answer(200, { KeyId: body.KeyId, Signature, SigningAlgorithm: body.SigningAlgorithm });
  }
  if (path.endsWith("/publicKey")) {
    const algorithm = pair === key ? "EC_SIGN_P256_SHA256" : "EC_SIGN_SECP256K1_SHA256";
    const pem = pair.publicKey.export({ type: "spki", format: "pem" }) as string;
    return answer(200, { pem, pemCrc32c: String(crc32c(Buffer.from(pem))), algorithm, ...damage });
  }
  const { sha256 } = body.digest as { sha256: string };
  const signature = signBytes(key.privateKey, Buffer.from(sha256, "base64"), "der");
  answer(200, {
    name: path.replace("/v1/", "").replace(":asymmetricSign", ""),
    signature: signature.toString("base64"),
    signatureCrc32c: String(crc32c(signature)),
    verifiedDigestCrc32c: body.digestCrc32c === String(crc32c(Buffer.from(sha256, "base64"))),
    ...damage,
  });
});

const gcpId = "projects/p/locations/l/keyRings/r/cryptoKeys/paymaster/cryptoKeyVersions/1";
let holders: Record<string, { holder: KeyHolder; id: string; secp: string }>;
beforeAll(async () => {
  await new Promise<void>((resolve) => fakeService.listen(0, "127.0.0.1", resolve));
  const endpoint = `http://127.0.0.1:${(fakeService.address() as AddressInfo).port}`;
  process.env.AWS_ACCESS_KEY_ID = "AKIATEST";
  process.env.AWS_SECRET_ACCESS_KEY = "secret-of-the-test";
  holders = {
    aws: { holder: awsKms({ region: "eu-central-1", endpoint }), id: "alias/paymaster", secp: "secp" },
    gcp: {
      holder: gcpKms({ endpoint, accessToken: async () => "token" }),
      id: gcpId,
      secp: gcpId.replace("paymaster", "secp"),
    },
  };
});
afterAll(async () => {
  delete process.env.AWS_ACCESS_KEY_ID;
  delete process.env.AWS_SECRET_ACCESS_KEY;
  for (const { holder } of Object.values(holders)) holder.close();
  await new Promise((resolve) => fakeService.close(resolve));
});

describe.each(["aws", "gcp"])("the key service %s, by a fake of its interface", (name) => {
  it("answers its public key and signs digests in the form of the chain", async () => {
    const { holder, id } = holders[name]!;
    expect(await holder.publicKey(id)).toEqual(publicKeyOf(key.publicKey));
    const message = Buffer.from("a message");
    const vault = await createRoutedVault(createKeystoreVault({ rootSecret: "00".repeat(32), chains: {} }), [
      { role: "paymaster", chainName, version: 1, holder, id },
    ]);
    const signature = await vault.sign({ role: "paymaster", chainName }, message);
    expect(signature).toHaveLength(64);
    expect(verifySignature(publicKeyOf(key.publicKey), message, signature, "sha3-256")).toBe(true);
  });

  it("certifies a process's key for audit records, once, and signs batches without being asked again", async () => {
    const { holder, id } = holders[name]!;
    const vault = await createRoutedVault(createKeystoreVault({ rootSecret: "00".repeat(32), chains: {} }), [
      { role: "audit", version: 3, holder, id },
    ]);
    const before = requests.length;
    let processKey: PublicKey | undefined;
    const writer = await createAuditWriter(vault, (publicKey, version) => {
      processKey = publicKey;
      return JSON.stringify([version, publicKey]);
    });
    expect(requests).toHaveLength(before + 1);
    const { text, signature } = writer.certificate;
    expect(JSON.parse(text)).toEqual([3, processKey]);
    const audit = publicKeyOf(key.publicKey);
    expect(verifySignature(audit, Buffer.from(text), Buffer.from(signature, "hex"), "sha256")).toBe(true);
    const batch = Buffer.from("a batch");
    expect(verifySignature(processKey!, batch, await writer.sign(batch), "sha256")).toBe(true);
    expect(requests).toHaveLength(before + 1);
  });

  it("refuses a key of another curve", async () => {
    const { holder, secp } = holders[name]!;
    await expect(holder.publicKey(secp)).rejects.toThrow("is not");
  });

  it("is Unavailable where the service refuses, and does not reveal why", async () => {
    const { holder, id } = holders[name]!;
    down = true;
    await expect(holder.signDigest(id, digest)).rejects.toMatchObject({
      reason: "Unavailable",
      detail: "a vault did not answer",
    });
    down = false;
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
    damage = change;
    await expect(holders.gcp!.holder.signDigest(gcpId, digest)).rejects.toMatchObject({ reason: "Unavailable" });
  });

  it.each<[string, Record<string, unknown>]>([
    ["another key's checksum", { pemCrc32c: "1" }],
    ["no checksum", { pemCrc32c: undefined }],
  ])("no public key is taken with %s", async (_, change) => {
    damage = change;
    await expect(holders.gcp!.holder.publicKey(gcpId)).rejects.toMatchObject({ reason: "Unavailable" });
  });
});

it("AWS is asked with a signature of the request, for a digest; Google with a token", async () => {
  requests.length = 0;
  await holders.aws!.holder.signDigest("alias/paymaster", digest);
  await holders.gcp!.holder.signDigest(gcpId, digest);
  expect(requests[0]!.headers.authorization).toMatch(
    /^AWS4-HMAC-SHA256 Credential=AKIATEST\/\d{8}\/eu-central-1\/kms\//,
  );
  expect(requests[0]!.body).toEqual({
    KeyId: "alias/paymaster",
    Message: digest.toString("base64"),
    MessageType: "DIGEST",
    SigningAlgorithm: "ECDSA_SHA_256",
  });
  expect(requests[1]).toMatchObject({
    path: `/v1/${gcpId}:asymmetricSign`,
    headers: { authorization: "Bearer token" },
    body: { digest: { sha256: digest.toString("base64") }, digestCrc32c: String(crc32c(digest)) },
  });
});

describe("keys in several vaults", () => {
  const scalar = () => [{ version: 1, scalar: `00${randomBytes(31).toString("hex")}` }];
  const keystore = createKeystoreVault({
    rootSecret: "00".repeat(32),
    audit: scalar(),
    chains: { [chainName]: { creator: scalar(), paymaster: scalar() } },
  });
  const memory = (pair: { publicKey: KeyObject; privateKey: KeyObject }): KeyHolder => ({
    publicKey: async () => publicKeyOf(pair.publicKey),
    signDigest: async (_, bytes) => signBytes(pair.privateKey, bytes, "compact"),
    close: () => undefined,
  });

  it("each version signs where it stands; the newest is the default", async () => {
    const holder = memory(key);
    const vault = await createRoutedVault(keystore, [{ role: "paymaster", chainName, version: 2, holder, id: "x" }]);
    expect(vault.versions("paymaster", chainName)).toEqual([1, 2]);
    expect(vault.versions("creator", chainName)).toEqual([1]);
    const message = Buffer.from("a message");
    for (const version of [1, 2]) {
      const reference = { role: "paymaster", chainName, version } as const;
      const publicKey = await vault.publicKey(reference);
      expect(verifySignature(publicKey, message, await vault.sign(reference, message), "sha3-256")).toBe(true);
    }
    expect(vault.version({ role: "paymaster", chainName })).toBe(2);
    expect(await vault.publicKey({ role: "paymaster", chainName })).toEqual(publicKeyOf(key.publicKey));
    expect(await vault.publicKey({ role: "creator", chainName })).toEqual(
      await keystore.publicKey({ role: "creator", chainName }),
    );
  });

  it("a vault that signs with another key than it shows stops the start", async () => {
    const holder = { ...memory(key), publicKey: async () => publicKeyOf(otherKey.publicKey) };
    const opened = createRoutedVault(keystore, [{ role: "audit", version: 2, holder, id: "x" }]);
    await expect(opened).rejects.toThrow("another key than it shows");
  });

  it("one key for two roles stops the start", async () => {
    const holder = memory(key);
    const both = [
      { role: "audit", version: 2, holder, id: "x" },
      { role: "creator", chainName, version: 2, holder, id: "x" },
    ] as const;
    await expect(createRoutedVault(keystore, both)).rejects.toThrow("names one key twice");
  });
});

describe("the vaults file", () => {
  const directory = mkdtempSync(join(tmpdir(), "countersign-vaults-"));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  const keystore = createKeystoreVault({ rootSecret: "00".repeat(32), chains: {} });
  const opened = (content: object) => {
    const file = join(directory, "vaults.json");
    writeFileSync(file, JSON.stringify(content));
    return openVaults(keystore, file);
  };
  const endpoint = () => `http://127.0.0.1:${(fakeService.address() as AddressInfo).port}`;
  const place = { role: "paymaster", chainName, version: 2, vault: "aws", id: "alias/paymaster" };

  it("places a version in a vault", async () => {
    const aws = { kind: "aws-kms", region: "eu-central-1", endpoint: endpoint() };
    const { vault, close } = await opened({ vaults: { aws }, keys: [place] });
    expect(await vault.publicKey({ role: "paymaster", chainName, version: 2 })).toEqual(publicKeyOf(key.publicKey));
    close();
    expect((await openVaults(keystore, undefined)).vault).toBe(keystore);
  });

  it.each<[string, Record<string, unknown>]>([
    ["an unknown kind", { vaults: { aws: { kind: "paper" } }, keys: [] }],
    ["a vault that is not there", { vaults: {}, keys: [place] }],
    ["two places for one version", { vaults: { aws: { kind: "aws-kms", region: "x" } }, keys: [place, place] }],
    ["a server key", { vaults: { aws: { kind: "aws-kms", region: "x" } }, keys: [{ ...place, role: "server" }] }],
    ["an unknown member", { vaults: {}, keys: [], key: [] }],
  ])("with %s stops the start", async (_, content) => {
    await expect(opened(content)).rejects.toThrow("vaults.json");
  });
});

describe("a running vault", { timeout: 90_000 }, () => {
  const directory = mkdtempSync(join(tmpdir(), "countersign-running-vault-"));
  const place = (name: string) => join(directory, name);
  const networks = {
    ...unchanging(new Map([[chainName, { chainName }]])),
    require: () => undefined,
  };
  const settings = {
    keystoreFile: place("keystore.json"),
    vaultsFile: place("vaults.json"),
    secrets: { keystorePassphraseFile: place("passphrase") },
    networks,
  };
  let close: (() => unknown)[];
  let refused: string[];
  beforeEach(() => {
    [close, refused] = [[], []];
    for (const name of readdirSync(directory)) rmSync(place(name));
    writeFileSync(place("passphrase"), "one");
    ensureKeystore(settings.keystoreFile, "one", chainName);
    const endpoint = `http://127.0.0.1:${(fakeService.address() as AddressInfo).port}`;
    const aws = { kind: "aws-kms", region: "eu-central-1", endpoint, credentialsFile: place("credentials") };
    const key = { role: "paymaster", chainName, version: 2, vault: "aws", id: "alias/paymaster" };
    writeFileSync(place("vaults.json"), JSON.stringify({ vaults: { aws }, keys: [key] }));
    credentials("AKIAONE");
  });
  afterEach(async () => {
    for (const each of close.reverse()) await each();
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  const credentials = (id: string) =>
    writeFileSync(place("credentials"), `[default]\naws_access_key_id = ${id}\naws_secret_access_key = secret\n`);
  async function start() {
    const destination = { write: (line: string) => void (line.includes("file-refused") && refused.push(line)) };
    const logger = createLogger({ name: "test", level: "error", destination });
    const files = watchFiles({ logger, metrics: createMetrics("test", { defaults: false }), intervalMs: 20 });
    close.push(() => files.close());
    return startVault(settings, { logger, files, onClose: (_name, each) => close.push(each) });
  }
  const usedCredentials = () =>
    /Credential=(\w+)/.exec(requests.findLast(({ headers }) => headers.authorization)!.headers.authorization!)?.[1];

  it("signs with changed credentials of a key service, without a pause", async () => {
    const { vault } = await start();
    const paymaster = { role: "paymaster", chainName, version: 2 } as const;
    await vault.sign(paymaster, digest);
    expect(usedCredentials()).toBe("AKIAONE");
    credentials("AKIATWO");
    await expect
      .poll(async () => {
        await vault.sign(paymaster, digest);
        return usedCredentials();
      }, LONG)
      .toBe("AKIATWO");
  });

  it("has a key that was added, after the passphrase has changed as well", async () => {
    const { vault, auditKeys } = await start();
    const before = await vault.publicKey({ role: "server", chainName, accountId: "a", version: 1 });
    addServerRoot(settings.keystoreFile, "one");
    addKeyVersion(settings.keystoreFile, "one", { role: "audit" });
    await expect
      .poll(() => [vault.versions("server"), [...auditKeys().keys()]], LONG)
      .toEqual([
        [1, 2],
        [1, 2],
      ]);
    reEncryptKeystore(settings.keystoreFile, "one", "two");
    await expect.poll(() => refused.length, LONG).toBe(1);
    writeFileSync(place("passphrase"), "two");
    addServerRoot(settings.keystoreFile, "two");
    await expect.poll(() => vault.versions("server"), LONG).toEqual([1, 2, 3]);
    expect(await vault.publicKey({ role: "server", chainName, accountId: "a", version: 1 })).toEqual(before);
  });

  it.each<[string, () => void]>([
    [
      "another keystore with keys of the same names",
      () => {
        rmSync(settings.keystoreFile);
        ensureKeystore(settings.keystoreFile, "one", chainName);
      },
    ],
    ["no place for a key in use", () => writeFileSync(place("vaults.json"), JSON.stringify({ vaults: {}, keys: [] }))],
  ])("refuses %s, and goes on with the old one", async (_, change) => {
    const { vault } = await start();
    const key = { role: "creator", chainName } as const;
    const before = await vault.publicKey(key);
    change();
    await expect.poll(() => refused.length, LONG).toBe(1);
    expect(refused[0]).toContain("the vaults");
    expect(await vault.publicKey(key)).toEqual(before);
    expect(vault.versions("paymaster", chainName)).toEqual([1, 2]);
  });
});

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import {
  CreateAliasCommand,
  CreateKeyCommand,
  DisableKeyCommand,
  EnableKeyCommand,
  type KeySpec,
  KMSClient,
  ScheduleKeyDeletionCommand,
} from "@aws-sdk/client-kms";
import { AppError } from "@countersign/core";
import { verifySignature } from "@countersign/keys/node";
import { ensureLocalKms } from "@countersign/local-stack/tools.ts";
import { afterAll, beforeAll, expect, it } from "vitest";
import { awsKms } from "./aws-kms.ts";
import { type KeyHolder, KeyHolderError } from "./key-holder.ts";
import { createKeystoreVault } from "./keystore-vault.ts";
import { createRoutedVault } from "./routed-vault.ts";

// The fake of key-services.test.ts answers as we have understood AWS; Local KMS is other people's.
const directory = mkdtempSync(join(tmpdir(), "countersign-local-kms-"));
const region = "eu-central-1";
const alias = "alias/countersign-paymaster";
let program: ChildProcess;
let client: KMSClient;
let holder: KeyHolder;
let keyId: string;
let arn: string;

async function createKey(spec: KeySpec): Promise<{ KeyId: string; Arn: string }> {
  const { KeyMetadata } = await client.send(new CreateKeyCommand({ KeySpec: spec, KeyUsage: "SIGN_VERIFY" }));
  return KeyMetadata as { KeyId: string; Arn: string };
}

beforeAll(async () => {
  const binary = await ensureLocalKms(console.log);
  program = spawn(binary, [join(directory, "keys")], { stdio: ["ignore", "pipe", "ignore"] });
  const [address] = (await once(createInterface(program.stdout!), "line")) as [string];
  const endpoint = `http://${address}`;
  const credentials = { accessKeyId: "test", secretAccessKey: "test" };
  client = new KMSClient({ region, endpoint, credentials });
  ({ KeyId: keyId, Arn: arn } = await createKey("ECC_NIST_P256"));
  await client.send(new CreateAliasCommand({ AliasName: alias, TargetKeyId: keyId }));
  const credentialsFile = join(directory, "credentials");
  writeFileSync(credentialsFile, "[default]\naws_access_key_id = test\naws_secret_access_key = test\n");
  holder = awsKms({ region, endpoint, credentialsFile });
});
afterAll(async () => {
  holder?.close();
  client?.destroy();
  if (program?.kill()) await once(program, "exit");
  rmSync(directory, { recursive: true, force: true });
});

it("signs in the form of the chain with a key that is named by its id, its ARN or an alias", async () => {
  for (const id of [keyId, arn, alias]) {
    const publicKey = await holder.publicKey(id);
    expect(publicKey.algorithm).toBe("ES256");
    const vault = await createRoutedVault(createKeystoreVault({ rootSecret: "00".repeat(32), chains: {} }), [
      { role: "paymaster", chainName: "flow-mainnet", version: 1, holder, id },
    ]);
    const message = Buffer.from("a message");
    const signature = await vault.sign({ role: "paymaster", chainName: "flow-mainnet" }, message);
    expect(verifySignature(publicKey, message, signature, "sha3-256")).toBe(true);
  }
});

it("refuses a key of another kind", async () => {
  for (const spec of ["RSA_2048", "ECC_SECG_P256K1"] as const) {
    const { KeyId } = await createKey(spec);
    await expect(holder.publicKey(KeyId)).rejects.toBeInstanceOf(KeyHolderError);
  }
});

it("is unavailable where a key does not exist, while it is disabled, and once its deletion is scheduled", async () => {
  const unavailable = async (promise: Promise<unknown>) => {
    const error = await promise.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AppError);
    expect(error).toMatchObject({ reason: "Unavailable", detail: "a vault did not answer" });
  };
  const digest = new Uint8Array(32).fill(1);
  await unavailable(holder.publicKey("alias/unknown"));
  await client.send(new DisableKeyCommand({ KeyId: keyId }));
  await unavailable(holder.signDigest(alias, digest));
  await client.send(new EnableKeyCommand({ KeyId: keyId }));
  expect(await holder.signDigest(alias, digest)).toHaveLength(64);
  await client.send(new ScheduleKeyDeletionCommand({ KeyId: keyId, PendingWindowInDays: 7 }));
  await unavailable(holder.signDigest(alias, digest));
});

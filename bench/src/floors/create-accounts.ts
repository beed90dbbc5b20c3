import { createECDH, createPrivateKey } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  createAccessApi,
  createAccountsArguments,
  createAccountsScript,
  type FlowTransaction,
  MAX_COMPUTATION,
} from "@countersign/flow";
import { withEnvelopeSignature } from "@countersign/flow/node";
import { generateKeyPair } from "@countersign/keys/node";
import type { Stack } from "@countersign/local-stack/stack-file.ts";
import type { Measured } from "../load.ts";

const SERVICE_ADDRESS = "f8d6e0586b0a20c7";
const BATCH = 10;

function serviceKey(stateDir: string) {
  const scalar = Buffer.from(readFileSync(join(stateDir, "keys", "flow-service.key"), "utf8").trim(), "hex");
  const ecdh = createECDH("prime256v1");
  ecdh.setPrivateKey(scalar);
  const point = ecdh.getPublicKey();
  const part = (bytes: Buffer) => bytes.toString("base64url");
  const jwk = { kty: "EC", crv: "P-256", d: part(scalar), x: part(point.subarray(1, 33)), y: part(point.subarray(33)) };
  return createPrivateKey({ format: "jwk", key: jwk });
}

/**
 * Measures the chain's own rate: the emulator's service account creates accounts with the same template, ten
 * per transaction, one transaction after the other.
 */
export async function createAccountsInBatches(stack: Stack, count: number): Promise<Measured> {
  const access = createAccessApi({ baseUrl: stack.chains[0]!.accessNode });
  const privateKey = serviceKey(stack.stateDir);
  const key = await access.accountKey(SERVICE_ADDRESS, 0);
  const hash = key.hashAlgorithm === "SHA3_256" ? "sha3-256" : "sha256";
  const block = await access.latestSealedBlock();
  const batches = Math.ceil(count / BATCH);
  const transactions = Array.from({ length: batches }, (_, i): FlowTransaction => {
    const accounts = Array.from({ length: BATCH }, () => ({
      serverKey: generateKeyPair().publicKey,
      userKey: generateKeyPair().publicKey,
    }));
    const transaction: FlowTransaction = {
      script: createAccountsScript(SERVICE_ADDRESS),
      arguments: createAccountsArguments(accounts),
      referenceBlockId: block.id,
      gasLimit: MAX_COMPUTATION,
      proposalKey: { address: SERVICE_ADDRESS, keyId: 0, sequenceNumber: key.sequenceNumber + BigInt(i) },
      payer: SERVICE_ADDRESS,
      authorizers: [SERVICE_ADDRESS],
      payloadSignatures: [],
      envelopeSignatures: [],
    };
    return withEnvelopeSignature(transaction, { address: SERVICE_ADDRESS, keyId: 0, privateKey, hash });
  });
  const times: number[] = [];
  const started = performance.now();
  for (const transaction of transactions) {
    const since = performance.now();
    const id = await access.submit(transaction);
    const result = await access.waitForSeal(id, { signal: AbortSignal.timeout(30_000), pollMs: 5 });
    if (result.statusCode !== 0) throw new Error(result.errorMessage);
    times.push(performance.now() - since);
  }
  const seconds = (performance.now() - started) / 1000;
  times.sort((a, b) => a - b);
  return {
    perSecond: (batches * BATCH) / seconds,
    p50: times[Math.floor(times.length / 2)]!,
    p99: times.at(-1)!,
    requests: batches * BATCH,
    errors: 0,
  };
}

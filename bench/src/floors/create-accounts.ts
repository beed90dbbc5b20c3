import {
  createAccessApi,
  createAccountsArguments,
  createAccountsScript,
  type FlowTransaction,
  MAX_COMPUTATION,
} from "@countersign/flow";
import { withEnvelopeSignature } from "@countersign/flow/node";
import { generateKeyPair, privateKeyOf } from "@countersign/keys/node";
import { serviceAddress } from "@countersign/local-stack/emulator.ts";
import { readTrimmed } from "@countersign/local-stack/secrets.ts";
import { stateFiles } from "@countersign/local-stack/service-environment.ts";
import type { Stack } from "@countersign/local-stack/stack-file.ts";
import type { Measured } from "../load.ts";

const BATCH = 10;

/**
 * Measures the chain's own rate: the emulator's service account creates accounts with the same template, ten
 * per transaction, one transaction after the other.
 */
export async function createAccountsInBatches(stack: Stack, count: number): Promise<Measured> {
  const access = createAccessApi({ baseUrl: stack.chains[0]!.accessNode });
  const privateKey = privateKeyOf(readTrimmed(stateFiles(stack.stateDir).flowServiceKey));
  const key = await access.accountKey(serviceAddress, 0);
  const hash = key.hashAlgorithm === "SHA3_256" ? "sha3-256" : "sha256";
  const block = await access.latestSealedBlock();
  const batches = Math.ceil(count / BATCH);
  const transactions = Array.from({ length: batches }, (_, i): FlowTransaction => {
    const accounts = Array.from({ length: BATCH }, () => ({
      serverKey: generateKeyPair().publicKey,
      userKey: generateKeyPair().publicKey,
    }));
    const transaction: FlowTransaction = {
      script: createAccountsScript(serviceAddress),
      arguments: createAccountsArguments(accounts),
      referenceBlockId: block.id,
      gasLimit: MAX_COMPUTATION,
      proposalKey: { address: serviceAddress, keyId: 0, sequenceNumber: key.sequenceNumber + BigInt(i) },
      payer: serviceAddress,
      authorizers: [serviceAddress],
      payloadSignatures: [],
      envelopeSignatures: [],
    };
    return withEnvelopeSignature(transaction, { address: serviceAddress, keyId: 0, privateKey, hash });
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

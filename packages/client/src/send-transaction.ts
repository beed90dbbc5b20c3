import {
  type AccessApi,
  AccessApiError,
  type CadenceValue,
  type ChainKey,
  createAccessApi,
  encodeCadence,
  envelopeMessage,
  type FlowTransaction,
  type HybridCustodyNetwork,
  KEY_ROLES,
  payloadMessage,
  type TransactionPayload,
  type TransactionResult,
  type TransactionSignature,
} from "@countersign/flow";
import { bytesToHex } from "@countersign/keys";
import type { CountersignClient } from "./countersign-client.ts";
import { ProblemError } from "./problem-error.ts";
import type { CompositeSignature } from "./resources.ts";
import { sleep } from "./sleep.ts";
import { signMessageWith } from "./user-key.ts";

/** The chain as a client must know it. */
export interface ClientNetwork {
  chainName: string;
  /** REST address of an access node. */
  accessNode: string;
  /** Who pays; with or without 0x. */
  paymaster: string;
  /** HybridCustody as the service's configuration of the network has it; without it, links go through the inbox. */
  hybridCustody?: HybridCustodyNetwork;
}

export interface SendTransactionOptions {
  network: ClientNetwork;
  cadence: string;
  /** Or what makes them of the account's keys, as they are when the transaction is built. */
  args?: readonly CadenceValue[] | ((keys: readonly ChainKey[]) => readonly CadenceValue[]);
  /** The account; default: the session's, as `me()` shows it on this chain. */
  address?: string;
  /** Computation; default 1000. */
  gasLimit?: bigint;
  /** Whose sequence number it consumes: this device's key (the default), or the account's server key, as the service's own templates want it. */
  proposer?: "device" | "server";
  /** Ends the wait for the seal; default: after 60 s. */
  signal?: AbortSignal;
  accessApi?: AccessApi;
}

export interface SentTransaction {
  id: string;
  result: TransactionResult;
}

const SEAL_TIMEOUT_MS = 60_000;
const SUBMIT_AGAIN_MS = 1_000;
/** The service moves to an account's new server key that long after the chain. */
const ROTATED_AGAIN_MS = 500;

/** The transaction was refused by the chain, or ran out of time there. */
export class TransactionFailedError extends Error {
  override readonly name = "TransactionFailedError";
  readonly transactionId: string;
  readonly result: TransactionResult;

  constructor(transactionId: string, result: TransactionResult) {
    super(`transaction ${transactionId} failed: ${result.errorMessage || result.status}`);
    this.transactionId = transactionId;
    this.result = result;
  }
}

/**
 * Builds a transaction of the account, has it signed by device, server key and paymaster, submits it and waits for the seal. One that a rotation of the server key overtook has
 * not run and never will: it is built again, with the key that the account has then.
 * Errors: ProblemError where the server refuses to sign, TransactionFailedError where the chain refuses.
 */
export async function sendTransaction(
  client: CountersignClient,
  options: SendTransactionOptions,
): Promise<SentTransaction> {
  const { network } = options;
  const access = options.accessApi ?? createAccessApi({ baseUrl: network.accessNode });
  const signal = options.signal ?? AbortSignal.timeout(SEAL_TIMEOUT_MS);
  const address = plain(options.address ?? (await cadenceAddress(client, network.chainName)));
  for (;;) {
    const attempt: Attempt = { serverKeyId: undefined };
    try {
      return await sendOnce(client, { ...options, address, signal }, access, attempt);
    } catch (error) {
      if (signal.aborted || !(await wasRotated(error, attempt, () => access.accountKeys(address, signal)))) throw error;
    }
    await sleep(ROTATED_AGAIN_MS, signal);
  }
}

/** What one try came to know before it ended. */
interface Attempt {
  serverKeyId: number | undefined;
}

/** Whether a try ended because the server key was rotated: the signer says so, or the key that had signed is revoked by now. */
async function wasRotated(
  error: unknown,
  { serverKeyId }: Attempt,
  keysNow: () => Promise<readonly ChainKey[]>,
): Promise<boolean> {
  if (error instanceof ProblemError) return error.error === "MessageRenewed";
  const isRefused = error instanceof TransactionFailedError || (error instanceof AccessApiError && error.status > 0);
  if (!isRefused || serverKeyId === undefined) return false;
  return (await keysNow()).some(({ index, revoked }) => index === serverKeyId && revoked);
}

async function sendOnce(
  client: CountersignClient,
  options: SendTransactionOptions & { address: string; signal: AbortSignal },
  access: AccessApi,
  attempt: Attempt,
): Promise<SentTransaction> {
  const { network, address, signal, args = [] } = options;
  const [block, keys] = await Promise.all([access.latestSealedBlock(signal), access.accountKeys(address, signal)]);
  const own = deviceKeyOf(keys, address, client.deviceKey.publicKey);
  const proposer = options.proposer === "server" ? serverKeyOf(keys, address) : own;
  const payload: TransactionPayload = {
    script: options.cadence,
    arguments: (typeof args === "function" ? args(keys) : args).map(encodeCadence),
    referenceBlockId: block.id,
    gasLimit: options.gasLimit ?? 1000n,
    proposalKey: { address, keyId: proposer.index, sequenceNumber: proposer.sequenceNumber },
    payer: plain(network.paymaster),
    authorizers: [address],
  };
  const transaction = await signTransaction(client, payload, network.chainName, own.index);
  attempt.serverKeyId = transaction.payloadSignatures.find(({ keyId }) => keyId !== own.index)?.keyId;
  const id = await submit(access, transaction, signal);
  const result = await access.waitForSeal(id, { signal });
  if (result.status !== "Sealed" || result.statusCode !== 0 || result.errorMessage !== "") {
    throw new TransactionFailedError(id, result);
  }
  return { id, result };
}

/** Submits, and once more the same bytes where no answer comes: they run once, and signed anew they might run twice. */
async function submit(access: AccessApi, transaction: FlowTransaction, signal: AbortSignal): Promise<string> {
  for (;;) {
    try {
      return await access.submit(transaction, signal);
    } catch (error) {
      const unanswered = error instanceof AccessApiError && error.status === 0;
      if (!unanswered || signal.aborted) throw error;
    }
    await sleep(SUBMIT_AGAIN_MS, signal);
  }
}

/**
 * Collects the three signatures: device and server over the payload, then the paymaster over the envelope. `deviceKeyId`: the device key's index
 * on chain, where another key proposes.
 */
export async function signTransaction(
  client: CountersignClient,
  payload: TransactionPayload,
  chainName: string,
  deviceKeyId: number = payload.proposalKey.keyId,
): Promise<FlowTransaction> {
  const message = payloadMessage(payload);
  const [device, server] = await Promise.all([
    signMessageWith(client.deviceKey, message),
    client.signTransaction(bytesToHex(message), chainName),
  ]);
  const { address } = payload.proposalKey;
  const payloadSignatures = [{ address, keyId: deviceKeyId, ...device }, toSignature(server)];
  const envelope = envelopeMessage({ ...payload, payloadSignatures });
  const payer = await client.signPaymaster(bytesToHex(envelope), chainName);
  return { ...payload, payloadSignatures, envelopeSignatures: [toSignature(payer)] };
}

/** The account's address on a chain, with 0x. */
export async function cadenceAddress(client: CountersignClient, chainName: string): Promise<string> {
  const { addresses } = await client.me();
  const found = addresses.find((entry) => entry.chainName === chainName && entry.chainType === "cadence");
  if (!found) throw new Error(`the account has no address on ${chainName} yet`);
  return found.address;
}

function deviceKeyOf(keys: readonly ChainKey[], address: string, publicKey: string): ChainKey {
  const key = keys.find((entry) => !entry.revoked && entry.publicKey === publicKey);
  if (!key) throw new Error(`this device's key is not on the account 0x${address}`);
  return key;
}

function serverKeyOf(keys: readonly ChainKey[], address: string): ChainKey {
  const { weight } = KEY_ROLES.server;
  const key = keys.find((entry) => !entry.revoked && entry.weight === weight && entry.hashAlgorithm === "SHA3_256");
  if (!key) throw new Error(`the account 0x${address} has no server key`);
  return key;
}

const toSignature = ({ addr, keyId, signature }: CompositeSignature): TransactionSignature => ({
  address: plain(addr),
  keyId,
  signature,
});

/** 16 hex digits without 0x, as the codec wants them. */
const plain = (address: string): string => address.replace(/^0x/i, "").toLowerCase();

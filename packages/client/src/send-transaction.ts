import {
  type AccessApi,
  AccessApiError,
  activeKey,
  type CadenceValue,
  type ChainKey,
  createAccessApi,
  encodeCadence,
  type FlowTransaction,
  type HybridCustodyNetwork,
  MAX_COMPUTATION,
  sleepUnlessAborted,
  type TransactionPayload,
  type TransactionResult,
  throwIfAborted,
  transactionId,
  withDeadline,
} from "@countersign/flow";
import type { CountersignClient } from "./countersign-client.ts";
import { describeTransaction, type TransactionDescription } from "./describe-transaction.ts";
import { ProblemError } from "./problem-error.ts";
import { isAnswerLost } from "./retry.ts";
import { plainAddress, signTransaction } from "./sign-transaction.ts";
import { sleep } from "./sleep.ts";
import { inTurn, type Turn } from "./transaction-queue.ts";
import { twinIds } from "./transaction-twins.ts";

/** The chain's facts that a client needs. */
export interface ClientNetwork {
  chainName: string;
  /** REST address of an access node. */
  accessNode: string;
  /** The paying account; with or without 0x. */
  paymaster: string;
  /**
   * HybridCustody as the service's configuration of the network has it; without it, links go through the
   * inbox.
   */
  hybridCustody?: HybridCustodyNetwork;
}

/**
 * How far a transaction is. `executed`: the chain has run it and its result will hardly change; `sealed`: it
 * is final. A transaction that is built again begins at `building` again, with another id.
 * @example
 * const show = (step: TransactionStep) => (step.status === "submitted" ? step.id : step.status);
 */
export type TransactionStep =
  | { status: "building" }
  | { status: "signing"; description: TransactionDescription }
  | { status: "submitted"; id: string }
  | { status: "executed" | "sealed"; id: string; result: TransactionResult };

/** Options of `sendTransaction`. */
export interface SendTransactionOptions {
  network: ClientNetwork;
  /** The text of the transaction. */
  cadence: string;
  /** Or what makes them of the account's keys, as they are when the transaction is built. */
  args?: readonly CadenceValue[] | ((keys: readonly ChainKey[]) => readonly CadenceValue[]);
  /** The account; default: the session's, as `me()` shows it on this chain. */
  address?: string;
  /** Computation; default 1000. */
  gasLimit?: bigint;
  /**
   * The key whose sequence number it consumes: this device's (the default), or the account's server key,
   * which the service's own templates require.
   */
  proposer?: "device" | "server";
  /**
   * Called with the content before anything is signed: an app's own dialog. Where the promise that it returns
   * is rejected, nothing is signed, and the call rejects with that error.
   */
  confirm?: (description: TransactionDescription) => void | Promise<void>;
  /** Called at each step. */
  onStatus?: (step: TransactionStep) => void;
  /**
   * Called with the transaction's id once it is signed and before it is submitted. With the id
   * `waitForTransaction` learns from the chain what became of it, also after an abort or a crash. Where it
   * returns a promise, nothing is submitted before that is fulfilled, nor if it is rejected. Called again,
   * with another id, when the transaction is built again.
   */
  onSubmitted?: (id: string) => void | Promise<void>;
  /** Ends the call, also while it waits for its turn; default: 60 s after its turn came. */
  signal?: AbortSignal;
  /** Default: the REST API of the network's access node. */
  accessApi?: AccessApi;
}

/** The options of sending one of the service's own templates. */
export type SendTemplateOptions = Pick<
  SendTransactionOptions,
  "network" | "address" | "confirm" | "onStatus" | "onSubmitted" | "signal" | "accessApi"
>;

export interface SentTransaction {
  id: string;
  result: TransactionResult;
}

const SEAL_TIMEOUT_MS = 60_000;
/**
 * How long a transaction that was submitted keeps the next one waiting while the chain says nothing about it.
 */
const MAX_TURN_MS = 60_000;
const SUBMIT_AGAIN_MS = 1_000;
/** The service moves to an account's new server key that long after the chain. */
const ROTATED_AGAIN_MS = 500;

/** Thrown when the transaction was refused by the chain, or ran out of time there. */
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
 * Builds a transaction of the account, has it signed by device, server key and paymaster, submits it and
 * waits for the seal. Transactions of one account are built one after another, those of one client in the
 * order of the calls, each when the one before has used its sequence number; with Web Locks also those of
 * other tabs.
 *
 * It is built and signed again only when it is certain that the first one has not run and never will: once
 * when somebody else had used its sequence number (another device, through the server key; another page), and
 * when a rotation of the server key overtook it.
 * Errors: ProblemError where the server refuses to sign, TransactionFailedError where the chain refuses.
 * @example
 * const { id } = await sendTransaction(client, { network, cadence, args, onStatus: console.log });
 */
export function sendTransaction(client: CountersignClient, options: SendTransactionOptions): Promise<SentTransaction> {
  const { network, signal } = options;
  const address = async () => options.address ?? (await cadenceAddress(client, network.chainName));
  const find = async () => `0x${plainAddress(await address())}`;
  return inTurn(client, { chainName: network.chainName, address: find, signal }, (turn) =>
    sendInTurn(client, options, turn),
  );
}

/** Sends one of the service's templates: the server key proposes. Errors: as `sendTransaction`. */
export const sendTemplate = (
  client: CountersignClient,
  template: SendTemplateOptions & Pick<SendTransactionOptions, "cadence" | "args">,
): Promise<SentTransaction> => sendTransaction(client, { ...template, gasLimit: MAX_COMPUTATION, proposer: "server" });

/** The options of `waitForTransaction`. */
export interface WaitForTransactionOptions {
  network: Pick<ClientNetwork, "accessNode">;
  /** Called when it is executed, and when it is sealed. */
  onStatus?: (step: TransactionStep) => void;
  /** Ends the wait; default: after 60 s. */
  signal?: AbortSignal;
  /** Default: the REST API of the network's access node. */
  accessApi?: AccessApi;
}

/**
 * Waits for the seal of a transaction whose id is known, such as one that `onSubmitted` gave before an abort
 * or a crash.
 * Errors: TransactionFailedError where the chain refused it; the signal's reason when it aborts. A
 * transaction that never comes to the chain looks the same as one that is late, so the wait for it ends with
 * the signal. An access node that does not answer is asked again.
 * @example const { result } = await waitForTransaction(id, { network, signal });
 */
export async function waitForTransaction(
  id: string,
  { network, onStatus, signal, accessApi }: WaitForTransactionOptions,
): Promise<SentTransaction> {
  const access = accessApi ?? createAccessApi({ baseUrl: network.accessNode });
  return withTimeLimit(signal, async (limit) => {
    const onExecuted = (result: TransactionResult) => onStatus?.({ status: "executed", id, result });
    const result = await waitForSeal(access, id, { signal: limit, onExecuted });
    onStatus?.({ status: "sealed", id, result });
    return succeeded(id, result);
  });
}

/** Does work until the caller's signal aborts; without one, for as long as a seal may take. */
const withTimeLimit = <Result>(
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> => (signal ? work(signal) : withDeadline(SEAL_TIMEOUT_MS, undefined, work));

/** Waits for the seal, also across answers of the node that were lost. */
async function waitForSeal(
  access: AccessApi,
  id: string,
  { signal, onExecuted }: { signal: AbortSignal; onExecuted: (result: TransactionResult) => void },
): Promise<TransactionResult> {
  let executed = false;
  const onceExecuted = (result: TransactionResult) => {
    if (!executed) onExecuted(result);
    executed = true;
  };
  for (;;) {
    try {
      return await access.waitForSeal(id, { signal, onExecuted: onceExecuted });
    } catch (error) {
      throwIfAborted(signal);
      if (!isAnswerLost(error)) throw error;
    }
    await sleepUnlessAborted(SUBMIT_AGAIN_MS, signal);
  }
}

async function sendInTurn(
  client: CountersignClient,
  options: SendTransactionOptions,
  turn: Turn,
): Promise<SentTransaction> {
  const access = options.accessApi ?? createAccessApi({ baseUrl: options.network.accessNode });
  return withTimeLimit(options.signal, (signal) => sendUntilRun(client, { ...options, signal }, access, turn));
}

async function sendUntilRun(
  client: CountersignClient,
  options: SendTransactionOptions & { signal: AbortSignal },
  access: AccessApi,
  turn: Turn,
): Promise<SentTransaction> {
  const { signal } = options;
  const address = plainAddress(turn.address);
  let rebuilt = false;
  for (;;) {
    const attempt: Attempt = { serverKeyId: undefined, isStale: false };
    try {
      return await sendOnce(client, { ...options, address }, access, attempt, turn);
    } catch (error) {
      if (signal.aborted) throw error;
      if (attempt.isStale && !rebuilt) {
        rebuilt = true;
        continue;
      }
      if (!(await wasRotated(error, attempt, () => access.accountKeys(address, signal)))) throw error;
    }
    await sleep(ROTATED_AGAIN_MS, signal);
  }
}

/** The facts that one try learned before it ended. */
interface Attempt {
  serverKeyId: number | undefined;
  /** Its sequence number was used by another transaction: it has not run and never will. */
  isStale: boolean;
}

/**
 * Returns whether a try ended because the server key was rotated: the signer says so, or the key that had
 * signed is revoked.
 */
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
  turn: Turn,
): Promise<SentTransaction> {
  const { network, address, signal, args = [], onStatus } = options;
  onStatus?.({ status: "building" });
  const [block, keys] = await Promise.all([access.latestSealedBlock(signal), access.accountKeys(address, signal)]);
  const own = deviceKeyOf(keys, address, client.deviceKey.publicKey);
  const proposer = options.proposer === "server" ? serverKeyOf(keys, address) : own;
  const key = { address, keyId: proposer.index, sequenceNumber: proposer.sequenceNumber };
  const payload: TransactionPayload = {
    script: options.cadence,
    arguments: (typeof args === "function" ? args(keys) : args).map(encodeCadence),
    referenceBlockId: block.id,
    gasLimit: options.gasLimit ?? 1000n,
    proposalKey: { ...key, sequenceNumber: turn.next(key) },
    payer: plainAddress(network.paymaster),
    authorizers: [address],
  };
  const description = describeTransaction(payload, network);
  await options.confirm?.(description);
  throwIfAborted(signal);
  onStatus?.({ status: "signing", description });
  const transaction = await signTransaction(client, payload, network.chainName, own.index);
  attempt.serverKeyId = transaction.payloadSignatures.find(({ keyId }) => keyId !== own.index)?.keyId;
  await options.onSubmitted?.(transactionId(transaction));
  throwIfAborted(signal);
  onStatus?.({ status: "submitted", id: transactionId(transaction) });
  const timer = setTimeout(turn.release, MAX_TURN_MS);
  try {
    return await submitAndWait(access, transaction, { signal, ...(onStatus && { onStatus }) }, attempt, turn);
  } finally {
    clearTimeout(timer);
  }
}

async function submitAndWait(
  access: AccessApi,
  transaction: FlowTransaction,
  { signal, onStatus }: { signal: AbortSignal; onStatus?: (step: TransactionStep) => void },
  attempt: Attempt,
  turn: Turn,
): Promise<SentTransaction> {
  const { proposalKey } = transaction;
  const onExecuted = (executed: TransactionResult) => {
    const { statusCode, errorMessage } = executed;
    if (!wrongSequenceNumber(executed))
      onStatus?.({ status: "executed", id: transactionId(transaction), result: executed });
    // A failed one may have been refused before it used its number: then the chain is asked, once it is
    // sealed.
    if (statusCode !== 0 || errorMessage !== "") return;
    turn.note({ ...proposalKey, sequenceNumber: proposalKey.sequenceNumber + 1n });
    turn.release();
  };
  const id = await submit(access, transaction, signal);
  const result = await waitForSeal(access, id, { signal, onExecuted });
  const numbers = wrongSequenceNumber(result);
  if (numbers === undefined) {
    onStatus?.({ status: "sealed", id, result });
    return succeeded(id, result);
  }

  // The payer's signature has another form, under which somebody else may have submitted the same
  // transaction.
  const twin = await executedTwin(access, transaction, signal);
  if (twin !== undefined) {
    const ofTwin = await waitForSeal(access, twin, { signal, onExecuted });
    onStatus?.({ status: "sealed", id: twin, result: ofTwin });
    return succeeded(twin, ofTwin);
  }
  turn.note({ ...proposalKey, sequenceNumber: numbers.expected });
  // A number that is still to come could make the same bytes run later.
  attempt.isStale = numbers.expected > numbers.given;
  throw new TransactionFailedError(id, result);
}

function succeeded(id: string, result: TransactionResult): SentTransaction {
  if (result.status !== "Sealed" || result.statusCode !== 0 || result.errorMessage !== "") {
    throw new TransactionFailedError(id, result);
  }
  return { id, result };
}

/** Flow's error 1007: the transaction has not run, and has used no sequence number. */
const WRONG_SEQUENCE_NUMBER = /error code: 1007\].*has sequence number (\d+), but given (\d+)/is;

function wrongSequenceNumber({ errorMessage }: TransactionResult): { expected: bigint; given: bigint } | undefined {
  const [, expected, given] = WRONG_SEQUENCE_NUMBER.exec(errorMessage) ?? [];
  return expected && given ? { expected: BigInt(expected), given: BigInt(given) } : undefined;
}

/**
 * Returns the id under which the chain has run this very transaction with the payer's signature in its other
 * form, if it has.
 */
async function executedTwin(
  access: AccessApi,
  transaction: FlowTransaction,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (const id of twinIds(transaction)) {
    const result = await access.transactionResult(id, signal);
    const hasRun = result?.status === "Executed" || result?.status === "Sealed";
    if (hasRun && wrongSequenceNumber(result) === undefined) return id;
  }
  return undefined;
}

/**
 * Submits, and repeats the same bytes where no answer comes: they run once, but signed again they might run
 * twice.
 */
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

/** Returns the account's address on a chain, with 0x. */
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
  const key = activeKey(keys, "server");
  if (!key) throw new Error(`the account 0x${address} has no server key`);
  return key;
}

import {
  type AccessApi,
  AccessApiError,
  sleepUnlessAborted,
  type TransactionResult,
  throwIfAborted,
  withDeadline,
} from "@countersign/flow";
import { accessOf, type ClientNetwork } from "./chain-account.ts";
import type { TransactionDescription } from "./describe-transaction.ts";
import { isAnswerLost } from "./retry.ts";

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

/** A transaction that was sealed. */
export interface SentTransaction {
  /** 64 hex digits. */
  id: string;
  /** The chain's result, with its events. */
  result: TransactionResult;
}

const SEAL_TIMEOUT_MS = 60_000;
const ASK_AGAIN_MS = 1_000;

/**
 * Thrown when the transaction was refused by the chain, or ran out of time there.
 * @example
 * await sendTransaction(client, { network, cadence, args }).catch((error) => {
 *   if (!(error instanceof TransactionFailedError)) throw error;
 *   show(`${error.transactionId}: ${error.result.errorMessage}`);
 * });
 */
export class TransactionFailedError extends Error {
  override readonly name = "TransactionFailedError";
  /** 64 hex digits. */
  readonly transactionId: string;
  /** The chain's result, with its error. */
  readonly result: TransactionResult;

  constructor(transactionId: string, result: TransactionResult) {
    super(`transaction ${transactionId} failed: ${result.errorMessage || result.status}`);
    this.transactionId = transactionId;
    this.result = result;
  }
}

/** The options of `waitForTransaction`. */
export interface WaitForTransactionOptions {
  /** The transaction's chain and its access node. */
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
  const access = accessOf({ network, accessApi });
  return withTimeLimit(signal, async (limit) => {
    const onExecuted = (result: TransactionResult) => onStatus?.({ status: "executed", id, result });
    const result = await waitForSeal(access, id, { signal: limit, onExecuted });
    onStatus?.({ status: "sealed", id, result });
    return succeeded(id, result);
  });
}

/** Does work until the caller's signal aborts; without one, for as long as a seal may take. */
export const withTimeLimit = <Result>(
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> => (signal ? work(signal) : withDeadline(SEAL_TIMEOUT_MS, undefined, work));

/** Waits for the seal, also across answers of the node that were lost. */
export async function waitForSeal(
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
      // Another error, also a TypeError, is that of an app's own `onStatus`.
      if (!(error instanceof AccessApiError) || !isAnswerLost(error)) throw error;
    }
    await sleepUnlessAborted(ASK_AGAIN_MS, signal);
  }
}

export const hasSucceeded = ({ status, statusCode, errorMessage }: TransactionResult): boolean =>
  status === "Sealed" && statusCode === 0 && errorMessage === "";

/** Returns a sealed transaction. Errors: TransactionFailedError where the chain refused it. */
export function succeeded(id: string, result: TransactionResult): SentTransaction {
  if (!hasSucceeded(result)) throw new TransactionFailedError(id, result);
  return { id, result };
}

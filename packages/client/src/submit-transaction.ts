import { type AccessApi, AccessApiError, type FlowTransaction, type TransactionResult } from "@countersign/flow";
import { isAnswerLost } from "./retry.ts";
import { sleep } from "./sleep.ts";
import type { Turn } from "./transaction-queue.ts";
import { twinIds } from "./transaction-twins.ts";
import {
  hasSucceeded,
  type SentTransaction,
  succeeded,
  TransactionFailedError,
  type TransactionStep,
  waitForSeal,
} from "./wait-for-transaction.ts";

const SUBMIT_AGAIN_MS = 1_000;

/**
 * How long a transaction that was submitted keeps the next one waiting while the chain says nothing about it.
 */
const MAX_TURN_MS = 60_000;

/** The facts that one try learned before it ended. */
export interface Attempt {
  serverKeyId: number | undefined;
  /** A node has taken it: an error of a later question does not mean that it has not run. */
  isSubmitted: boolean;
  /** Its sequence number was used by another transaction: it has not run and never will. */
  isStale: boolean;
}

interface Submission {
  accessApi: AccessApi;
  signal: AbortSignal;
  onStatus: ((step: TransactionStep) => void) | undefined;
  attempt: Attempt;
  turn: Turn;
}

/**
 * Submits a signed transaction and waits for its seal. The next one's turn begins when this one has run, or
 * when the chain has said nothing about it for too long.
 */
export async function submitTransaction(
  transaction: FlowTransaction,
  submission: Submission,
): Promise<SentTransaction> {
  const timer = setTimeout(submission.turn.release, MAX_TURN_MS);
  try {
    return await submitAndWait(transaction, submission);
  } finally {
    clearTimeout(timer);
  }
}

async function submitAndWait(
  transaction: FlowTransaction,
  { accessApi, signal, onStatus, attempt, turn }: Submission,
): Promise<SentTransaction> {
  const { proposalKey } = transaction;
  const onExecuted = (id: string) => (executed: TransactionResult) => {
    const { statusCode, errorMessage } = executed;
    if (!wrongSequenceNumber(executed)) onStatus?.({ status: "executed", id, result: executed });
    // A failed one may have been refused before it used its number: then the chain is asked, once it is
    // sealed.
    if (statusCode !== 0 || errorMessage !== "") return;
    turn.note({ ...proposalKey, sequenceNumber: proposalKey.sequenceNumber + 1n });
    turn.release();
  };
  const id = await submit(accessApi, transaction, signal);
  attempt.isSubmitted = true;
  const result = await waitForSeal(accessApi, id, { signal, onExecuted: onExecuted(id) });
  const sealed = (sealedId: string, ofSealed: TransactionResult): SentTransaction => {
    onStatus?.({ status: "sealed", id: sealedId, result: ofSealed });
    return succeeded(sealedId, ofSealed);
  };
  // The payer's signature has another form, under which somebody else may have submitted the same
  // transaction. Then this one is refused for its number, or for a key that was revoked since, or expires.
  const twin = hasSucceeded(result) ? undefined : await executedTwin(accessApi, transaction, signal);
  if (twin !== undefined) {
    return sealed(twin, await waitForSeal(accessApi, twin, { signal, onExecuted: onExecuted(twin) }));
  }
  const numbers = wrongSequenceNumber(result);
  if (numbers === undefined) return sealed(id, result);
  turn.note({ ...proposalKey, sequenceNumber: numbers.expected });
  // A number that is still to come could make the same bytes run later.
  attempt.isStale = numbers.expected > numbers.given;
  throw new TransactionFailedError(id, result);
}

/**
 * Submits, and repeats the same bytes where the answer is lost: they run once, but signed again they might
 * run twice. With 500 nodes refuse.
 */
async function submit(access: AccessApi, transaction: FlowTransaction, signal: AbortSignal): Promise<string> {
  let isLost = false;
  for (;;) {
    try {
      return await access.submit(transaction, signal);
    } catch (error) {
      if (!(error instanceof AccessApiError) || signal.aborted) throw error;
      // Once an answer was lost, a refusal, perhaps of another node, does not say what became of the first.
      isLost ||= error.status !== 500 && isAnswerLost(error);
      if (!isLost) throw error;
    }
    await sleep(SUBMIT_AGAIN_MS, signal);
  }
}

/**
 * Flow's error 1007: the transaction has not run, and has used no sequence number. Only the code at the
 * beginning is Flow's; further on may be a text of the transaction's author, such as that of a panic.
 */
const WRONG_SEQUENCE_NUMBER = /^\[error code: 1007\].*has sequence number (\d{1,20}), but given (\d{1,20})/is;

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

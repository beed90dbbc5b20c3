import {
  type AccessApi,
  AccessApiError,
  type CadenceValue,
  type ChainKey,
  encodeCadence,
  MAX_COMPUTATION,
  type TransactionPayload,
  transactionId,
} from "@countersign/flow";
import {
  accessOf,
  type ClientNetwork,
  cadenceAddress,
  deviceKeyOf,
  plainAddress,
  serverKeyOf,
} from "./chain-account.ts";
import type { CountersignClient } from "./countersign-client.ts";
import { describeTransaction, type TransactionDescription } from "./describe-transaction.ts";
import { unlessAborted } from "./locks.ts";
import { ProblemError, SessionEndedError } from "./problem-error.ts";
import { signTransaction } from "./sign-transaction.ts";
import { sleep } from "./sleep.ts";
import { type Attempt, submitTransaction } from "./submit-transaction.ts";
import { inTurn, type Turn } from "./transaction-queue.ts";
import {
  type SentTransaction,
  TransactionFailedError,
  type TransactionStep,
  withTimeLimit,
} from "./wait-for-transaction.ts";

/** Options of `sendTransaction`. */
export interface SendTransactionOptions {
  /** The chain, its access node and its paymaster. */
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
   * returns a promise, nothing is submitted before that is fulfilled, nor if it is rejected. Called again
   * when the transaction is built again: keep that id in the place of the first, which never runs. Do not
   * wait in it for another transaction of the account, which waits for this one.
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

const LEFT = { error: "SessionEnded", detail: "the person who sent the transaction has signed out" };

/** The service moves to an account's new server key that long after the chain. */
const ROTATED_AGAIN_MS = 500;

/**
 * Builds a transaction of the account, has it signed by device, server key and paymaster, submits it and
 * waits for the seal. Transactions of one account are built one after another, those of one client in the
 * order of the calls, each when the one before has used its sequence number; with Web Locks also those of
 * other tabs.
 *
 * It is built and signed again only when it is certain that the first one has not run and never will: once
 * when somebody else had used its sequence number (another device, through the server key; another page), and
 * when a rotation of the server key overtook it.
 * Errors: ProblemError where the server refuses to sign, TransactionFailedError where the chain refuses,
 * SessionEndedError where the person signed out, or another one in, before its turn.
 * @example
 * const { id } = await sendTransaction(client, { network, cadence, args, onStatus: console.log });
 */
export async function sendTransaction(
  client: CountersignClient,
  options: SendTransactionOptions,
): Promise<SentTransaction> {
  const { network, signal } = options;
  if (typeof network?.chainName !== "string")
    throw new TypeError("network is none: give one of those that `await client.networks()` returns");
  if (typeof options.args === "function" && options.args.length > 1)
    throw new TypeError('args are FCL\'s: give values, [{ type: "String", value: "hello" }]');
  if (typeof options.cadence !== "string") throw new TypeError("cadence is no text: give the transaction's code");
  const { accountId } = client.session;
  const find = async () => {
    const address = options.address ?? (await cadenceAddress(client, network.chainName));
    // It waited for its turn: what one person asked for is never done in another's name.
    if (accountId !== undefined && client.session.accountId !== accountId) throw new SessionEndedError(401, LEFT, null);
    return `0x${plainAddress(address)}`;
  };
  return inTurn(client, { chainName: network.chainName, address: find, signal }, (turn) =>
    withTimeLimit(signal, (limit) =>
      sendUntilRun(
        client,
        { ...options, address: plainAddress(turn.address), signal: limit, accessApi: accessOf(options) },
        turn,
      ),
    ),
  );
}

/** Sends one of the service's templates: the server key proposes. Errors: as `sendTransaction`. */
export const sendTemplate = (
  client: CountersignClient,
  template: SendTemplateOptions & Pick<SendTransactionOptions, "cadence" | "args">,
): Promise<SentTransaction> => sendTransaction(client, { ...template, gasLimit: MAX_COMPUTATION, proposer: "server" });

/** The options with the facts that are known once it is the transaction's turn. */
type Sending = SendTransactionOptions & Required<Pick<SendTransactionOptions, "address" | "signal" | "accessApi">>;

async function sendUntilRun(client: CountersignClient, options: Sending, turn: Turn): Promise<SentTransaction> {
  const { address, signal, accessApi } = options;
  let rebuilt = false;
  for (;;) {
    const attempt: Attempt = { serverKeyId: undefined, isSubmitted: false, isStale: false };
    try {
      return await sendOnce(client, options, attempt, turn);
    } catch (error) {
      if (signal.aborted) throw error;
      if (attempt.isStale && !rebuilt) {
        rebuilt = true;
        continue;
      }
      if (!(await wasRotated(error, attempt, () => accessApi.accountKeys(address, signal)))) throw error;
    }
    await sleep(ROTATED_AGAIN_MS, signal);
  }
}

/**
 * Returns whether a try ended because the server key was rotated: the signer says so, or the key that had
 * signed is revoked.
 */
async function wasRotated(
  error: unknown,
  { serverKeyId, isSubmitted }: Attempt,
  keysNow: () => Promise<readonly ChainKey[]>,
): Promise<boolean> {
  if (error instanceof ProblemError) return error.error === "MessageRenewed";
  const isRefused =
    error instanceof TransactionFailedError || (error instanceof AccessApiError && error.status > 0 && !isSubmitted);
  if (!isRefused || serverKeyId === undefined) return false;
  return (await keysNow()).some(({ index, revoked }) => index === serverKeyId && revoked);
}

async function sendOnce(
  client: CountersignClient,
  options: Sending,
  attempt: Attempt,
  turn: Turn,
): Promise<SentTransaction> {
  const { network, address, signal, accessApi, args = [], onStatus } = options;
  onStatus?.({ status: "building" });
  const [block, keys] = await Promise.all([
    accessApi.latestSealedBlock(signal),
    accessApi.accountKeys(address, signal),
  ]);
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
  await unlessAborted(options.confirm?.(description), signal);
  onStatus?.({ status: "signing", description });
  const transaction = await signTransaction(client, payload, network.chainName, own.index);
  attempt.serverKeyId = transaction.payloadSignatures.find(({ keyId }) => keyId !== own.index)?.keyId;
  await unlessAborted(options.onSubmitted?.(transactionId(transaction)), signal);
  onStatus?.({ status: "submitted", id: transactionId(transaction) });
  return submitTransaction(transaction, { signal, accessApi, attempt, turn, onStatus });
}

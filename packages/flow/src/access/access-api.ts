import { type FlowTransaction, transactionId } from "../codec/transaction.ts";
import { fetchText, sleepUnlessAborted, throwIfAborted } from "./deadline.ts";
import type { Block, ChainEvent, ChainKey, ChainTransaction, TransactionResult } from "./resources.ts";
import {
  readBalance,
  readBlock,
  readCollections,
  readEvents,
  readKey,
  readKeys,
  readResult,
  readScriptResult,
  readSubmitted,
  readTransaction,
  readTransactionIds,
  signatureBody,
  utf8,
} from "./wire.ts";

/**
 * Thrown when the access node rejected the request, gave an invalid answer, or did not answer.
 * @example
 * const found = await access.transaction(id).catch((error) => {
 *   if (error instanceof AccessApiError && error.status === 404) return undefined;
 *   throw error;
 * });
 */
export class AccessApiError extends Error {
  override readonly name = "AccessApiError";
  /** HTTP status; 0 when no answer came. */
  readonly status: number;
  constructor(message: string, status: number, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

/** The part of Flow's Access API (REST) that is used here. Addresses and ids are hex without prefix. */
export interface AccessApi {
  /**
   * The newest sealed block.
   * @example const { height } = await access.latestSealedBlock();
   */
  latestSealedBlock(signal?: AbortSignal): Promise<Block>;
  /**
   * The newest block that the network has agreed on; it may not be executed yet.
   * @example const { id: referenceBlockId } = await access.latestFinalBlock();
   */
  latestFinalBlock(signal?: AbortSignal): Promise<Block>;
  /**
   * A block by its id, or undefined where the node has none.
   * @example const { time } = (await access.block(result.blockId)) ?? {};
   */
  block(id: string, signal?: AbortSignal): Promise<Block | undefined>;
  /**
   * The block of a height, or undefined where the node has none.
   * @example const block = await access.blockAt(1_000n);
   */
  blockAt(height: bigint, signal?: AbortSignal): Promise<Block | undefined>;
  /**
   * All keys of an account, also revoked ones; as of the block at `height`, or of the newest that is sealed.
   * @example const keys = (await access.accountKeys(address)).filter(({ revoked }) => !revoked);
   */
  accountKeys(address: string, signal?: AbortSignal, height?: bigint): Promise<ChainKey[]>;
  /**
   * One key of an account; as of the block at `height`, or of the newest that is sealed.
   * @example const { sequenceNumber } = await access.accountKey(address, 1);
   */
  accountKey(address: string, index: number, signal?: AbortSignal, height?: bigint): Promise<ChainKey>;
  /**
   * In 10⁻⁸ FLOW.
   * @example const flow = Number(await access.balance(address)) / 1e8;
   */
  balance(address: string, signal?: AbortSignal): Promise<bigint>;
  /**
   * Runs a script on the latest sealed block; `args` are JSON-Cadence texts; answers plain data.
   * @example
   * const script = "access(all) fun main(text: String): String { return text }";
   * const text = await access.executeScript(script, [encodeCadence(cadenceString("hello"))]);
   */
  executeScript(script: string, args: readonly string[], signal?: AbortSignal): Promise<unknown>;
  /**
   * Submits; a transaction that the node has already is no error. Answers its id. Errors: AccessApiError;
   * with status 0, 429, and 502 or above the node may have it.
   * @example const id = await access.submit(transaction);
   */
  submit(transaction: FlowTransaction, signal?: AbortSignal): Promise<string>;
  /**
   * A transaction that the node has. Errors: AccessApiError, with status 404 where it has none.
   * @example const { payer } = await access.transaction(transactionId(transaction));
   */
  transaction(id: string, signal?: AbortSignal): Promise<ChainTransaction>;
  /**
   * The result, or undefined while the node does not know the id. With `eventTypes` it has events of these
   * types only, each of which the transaction must emit, and before the seal it may have none: all events of
   * a large transaction are over a megabyte.
   * @example
   * const status = (await access.transactionResult(transactionId(transaction)))?.status ?? "Unknown";
   */
  transactionResult(
    id: string,
    signal?: AbortSignal,
    eventTypes?: readonly string[],
  ): Promise<TransactionResult | undefined>;
  /**
   * Polls until the transaction is sealed or expired; the caller's signal ends it. `onExecuted` is called
   * once with the result as soon as there is one, which on most networks is seconds before the seal.
   * @example
   * const id = await access.submit(transaction);
   * const { statusCode } = await access.waitForSeal(id, { signal: AbortSignal.timeout(60_000) });
   */
  waitForSeal(id: string, options: WaitForSealOptions): Promise<TransactionResult>;
  /**
   * All events of one type in a range of sealed blocks, both ends included; at most 250 blocks a call.
   * Errors: AccessApiError, also where the node lacks a block.
   * @example const events = await access.events("flow.AccountKeyAdded", 1_000n, 1_249n);
   */
  events(type: string, from: bigint, to: bigint, signal?: AbortSignal): Promise<ChainEvent[]>;

  /**
   * The ids of a block's transactions, without those of the system. Errors: AccessApiError, with status 404
   * where the node lacks the block.
   * @example const [id] = await access.transactionIds(1_000n);
   */
  transactionIds(height: bigint, signal?: AbortSignal): Promise<string[]>;

  /**
   * A sealed transaction's events of some types. Errors: AccessApiError, also where it is not sealed.
   * @example
   * const added = await access.transactionEvents(transactionId(transaction), ["flow.AccountKeyAdded"]);
   */
  transactionEvents(id: string, types: readonly string[], signal?: AbortSignal): Promise<ChainEvent[]>;
}

/** How long to wait for a seal, and what to call on the way. */
export interface WaitForSealOptions {
  /** Ends the wait. */
  readonly signal: AbortSignal;
  /** Milliseconds between two questions. */
  readonly pollMs?: number;
  /** Called once, when the transaction has a result. */
  readonly onExecuted?: (result: TransactionResult) => void;
}

/** Options of a client of an access node. */
export interface AccessApiOptions {
  /** The access node's REST API, such as `https://rest-mainnet.onflow.org`. */
  readonly baseUrl: string;
  /** For one request; the caller's signal may end it sooner. */
  readonly timeoutMs?: number;
  /** Default: the platform's. */
  readonly fetch?: typeof globalThis.fetch;
}

const MAX_POLL_MS = 500;

/**
 * Creates a client of one access node. Every request has a deadline, and the shape of every answer is
 * checked.
 * @example const access = createAccessApi({ baseUrl: "https://rest-mainnet.onflow.org" });
 */
export function createAccessApi({
  baseUrl,
  timeoutMs = 10_000,
  fetch = globalThis.fetch,
}: AccessApiOptions): AccessApi {
  async function request<T>(
    path: string,
    read: (body: unknown) => T,
    signal?: AbortSignal,
    body?: unknown,
  ): Promise<T> {
    const send = (until: AbortSignal) =>
      fetch(baseUrl + path, {
        signal: until,
        redirect: "error",
        ...(body === undefined
          ? {}
          : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
      });
    let answer: Awaited<ReturnType<typeof fetchText>>;
    try {
      answer = await fetchText(timeoutMs, signal, send);
    } catch (cause) {
      // Without user, path and query, which may be a provider's key.
      const node = baseUrl.replace(/^(\w+:\/\/)?(?:[^/?#]*@)?([^/?#]*).*/, "$1$2");
      throw new AccessApiError(`no answer from the access node ${node} to ${path}`, 0, { cause });
    }
    const { response, text } = answer;
    if (!response.ok)
      throw new AccessApiError(`the access node answered ${response.status}: ${text.slice(0, 500)}`, response.status);
    try {
      return read(JSON.parse(text));
    } catch (cause) {
      throw new AccessApiError(`the access node's answer to ${path} has an unknown shape`, response.status, { cause });
    }
  }

  /** Returns the answer; undefined where its status is one of these. */
  const optional = <T>(answer: Promise<T>, ...statuses: number[]): Promise<T | undefined> =>
    answer.catch((error: unknown) => {
      if (error instanceof AccessApiError && statuses.includes(error.status)) return undefined;
      throw error;
    });

  const optionalBlock = (path: string, signal?: AbortSignal) => optional(request(path, readBlock, signal), 404, 400);

  const eventsIn = (type: string, blocks: string, signal?: AbortSignal) =>
    request(`/v1/events?type=${encodeURIComponent(type)}&${blocks}`, readEvents, signal);

  const api: AccessApi = {
    latestSealedBlock: (signal) => request("/v1/blocks?height=sealed", readBlock, signal),

    latestFinalBlock: (signal) => request("/v1/blocks?height=final", readBlock, signal),

    block: (id, signal) => optionalBlock(`/v1/blocks/${id}`, signal),
    blockAt: (height, signal) => optionalBlock(`/v1/blocks?height=${height}`, signal),

    accountKeys: (address, signal, height) =>
      request(`/v1/accounts/${address}?expand=keys&block_height=${height ?? "sealed"}`, readKeys, signal),

    accountKey: (address, index, signal, height) =>
      request(`/v1/accounts/${address}/keys/${index}?block_height=${height ?? "sealed"}`, readKey, signal),

    balance: (address, signal) => request(`/v1/accounts/${address}`, readBalance, signal),

    executeScript: (script, args, signal) =>
      request("/v1/scripts?block_height=sealed", readScriptResult, signal, {
        script: utf8(script),
        arguments: args.map(utf8),
      }),

    async submit(tx, signal) {
      const id = transactionId(tx);
      const body = {
        script: utf8(tx.script),
        arguments: tx.arguments.map(utf8),
        reference_block_id: tx.referenceBlockId,
        gas_limit: String(tx.gasLimit),
        payer: tx.payer,
        proposal_key: {
          address: tx.proposalKey.address,
          key_index: String(tx.proposalKey.keyId),
          sequence_number: String(tx.proposalKey.sequenceNumber),
        },
        authorizers: tx.authorizers,
        payload_signatures: tx.payloadSignatures.map(signatureBody),
        envelope_signatures: tx.envelopeSignatures.map(signatureBody),
      };
      try {
        await request("/v1/transactions", readSubmitted, signal, body);
      } catch (error) {
        // Some nodes answer 500 to a transaction that they have: then its result is known.
        if (!(error instanceof AccessApiError) || error.status < 400) throw error;
        const result = await api.transactionResult(id, signal).catch((cause) => {
          throw new AccessApiError(`${error.message}; nor does it say whether it has ${id}`, 0, { cause });
        });
        if (!result) throw error;
      }
      return id;
    },

    transaction: (id, signal) => request(`/v1/transactions/${id}`, readTransaction, signal),

    async transactionResult(id, signal, eventTypes) {
      const path = `/v1/transaction_results/${id}`;
      const ask = (query: string) => request(path + query, (body) => readResult(body, eventTypes), signal);
      const read = (query: string) => optional(ask(query), 404);
      if (eventTypes === undefined) return read("");
      const result = await read("?select=block_id,status,status_code,error_message");
      if (result?.status !== "Sealed" || result.statusCode !== 0 || result.errorMessage !== "") return result;
      const inBlock = async (type: string) => (await eventsIn(type, `block_ids=${result.blockId}`, signal)).events;
      const found = await Promise.all(eventTypes.map(inBlock)).catch(() => []);
      const own = found.map((ofType) => ofType.filter(({ transactionId }) => transactionId === id));
      if (own.length > 0 && own.every((ofType) => ofType.length > 0))
        return { ...result, events: own.flat().toSorted((one, other) => (one.index ?? 0) - (other.index ?? 0)) };
      // A node that was asked for the events may lag behind the one that was asked before.
      return read("");
    },

    async waitForSeal(id, { signal, pollMs = 20, onExecuted }) {
      let executed = false;
      for (let wait = pollMs; ; wait = Math.min(wait * 2, MAX_POLL_MS)) {
        throwIfAborted(signal);
        const result = await api.transactionResult(id, signal);
        if (!executed && (result?.status === "Executed" || result?.status === "Sealed")) {
          executed = true;
          onExecuted?.(result);
        }
        if (result?.status === "Sealed" || result?.status === "Expired") return result;
        await sleepUnlessAborted(wait, signal);
      }
    },

    async events(type, from, to, signal) {
      const found: ChainEvent[] = [];
      // A node that lags behind answers without the blocks that it lacks, and lists those without events.
      for (let start = from; start <= to; ) {
        const { events, last } = await eventsIn(type, `start_height=${start}&end_height=${to}`, signal);
        if (last < start) throw new AccessApiError(`the access node has no blocks from ${start} on`, 404);
        for (const event of events) found.push(event);
        start = last + 1n;
      }
      return found;
    },

    async transactionIds(height, signal) {
      const ids: string[] = [];
      for (const id of await request(`/v1/blocks?height=${height}&expand=payload`, readCollections, signal))
        ids.push(...(await request(`/v1/collections/${id}`, readTransactionIds, signal)));
      return ids;
    },

    async transactionEvents(id, types, signal) {
      const read = (body: unknown) => readResult(body, types);
      const result = await request(`/v1/transaction_results/${id}`, read, signal);
      if (result?.status !== "Sealed") throw new AccessApiError(`the access node has not sealed ${id}`, 404);
      return [...result.events];
    },
  };
  return api;
}

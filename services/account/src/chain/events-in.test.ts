import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { FixedClock } from "@countersign/core/testing";
import type { Network } from "@countersign/settings";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { openChains } from "./open-chains.ts";

const MIB = 1024 * 1024;
const KEYS = "flow.AccountKeyRemoved";
const INBOX = "flow.InboxValueClaimed";
const FEES = "A.e5a8b7f23e8b548f.FlowFees.FeesDeducted";
const WITHDRAWN = "A.0ae53cb6e3f42a79.FlowToken.TokensWithdrawn";
const CONTRACT = "A.01cf0e2f2f715450.Fill.Nested";
const [owner, paymaster] = ["179b6b1cb6755e31", "f3fcd2c1a78f5eee"];
const [first, second, third] = ["aa".repeat(32), "bb".repeat(32), "cc".repeat(32)] as [string, string, string];
const { signal } = new AbortController();

const field = (name: string, value: object) => ({ name, value });
const address = (name: string, of: string) => field(name, { type: "Address", value: `0x${of}` });
const amount = (name: string, value: string) => field(name, { type: "UFix64", value });
const event = (type: string, transactionId: string, index: number, ...fields: object[]) => ({
  type,
  transaction_id: transactionId,
  event_index: String(index),
  payload: btoa(JSON.stringify({ type: "Event", value: { id: type, fields } })),
});
/** Deeper than any value that is read: a contract may emit it. */
const nested = event(CONTRACT, second, 9, field("deep", nestedIn(300)));
function nestedIn(depth: number): object {
  return { type: "Optional", value: depth === 0 ? null : nestedIn(depth - 1) };
}

const EVENTS = [
  event(KEYS, first, 3, address("address", owner), field("publicKey", { type: "Int", value: "1" })),
  event(INBOX, second, 4, address("recipient", owner)),
  event(WITHDRAWN, second, 5, amount("amount", "0.00001000"), address("from", paymaster)),
  event(FEES, second, 6, amount("amount", "0.00001000"), amount("executionEffort", "0.00000394")),
  nested,
];
/** MiB that a block's events of a type have, besides those above. */
let filled = new Map<string, number>();
let status = "Sealed";
/** HTTP status of the answers with events. */
let eventsStatus = 200;
const asked: string[] = [];

function* eventsOf(type: string): Generator<string> {
  const own = EVENTS.filter((each) => each.type === type).map((each) => JSON.stringify(each));
  yield `[{"block_height":"7","events":[${own.join(",")}`;
  for (let left = filled.get(type) ?? 0; left > 0; left--) yield " ".repeat(MIB);
  yield "]}]";
}
const answers: Record<string, (query: URLSearchParams, id: string) => string | Generator<string>> = {
  events: (query) => eventsOf(query.get("type")!),
  blocks: (query) =>
    query.get("height") === "7" && query.get("expand") === "payload"
      ? JSON.stringify([{ payload: { collection_guarantees: [{ collection_id: third }] } }])
      : "{}",
  collections: () =>
    JSON.stringify({ _expandable: { transactions: [first, second].map((id) => `/v1/transactions/${id}`) } }),
  transaction_results: (_, id) =>
    JSON.stringify({
      status,
      status_code: 0,
      error_message: "",
      block_id: third,
      events: EVENTS.filter((each) => each.transaction_id === id),
    }),
  transactions: () =>
    JSON.stringify({
      script: "",
      proposal_key: { address: owner, key_index: "1", sequence_number: "7" },
      payer: paymaster,
    }),
};
const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url!, "http://node.test");
  const [, , resource = "", id = ""] = pathname.split("/");
  asked.push(resource === "events" ? searchParams.get("type")! : resource);
  const answer = answers[resource]!(searchParams, id);
  if (resource === "events") response.statusCode = eventsStatus;
  for (const part of typeof answer === "string" ? [answer] : answer) response.write(part);
  response.end();
});
beforeAll(() => once(server.listen(0, "127.0.0.1"), "listening"));
afterAll(() => server.close());
beforeEach(() => {
  filled = new Map();
  status = "Sealed";
  eventsStatus = 200;
  asked.length = 0;
});

function chain() {
  const network = {
    chainName: "a",
    network: "emulator",
    accessNode: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    evmContract: "f8d6e0586b0a20c7",
    creator: { address: "f8d6e0586b0a20c7", keyCount: 1 },
    paymaster: { address: paymaster, keyId: 0 },
  } as unknown as Network;
  const networks = { current: () => new Map([["a", network]]), onChange: () => () => undefined };
  return openChains({ ...networks, refresh: () => undefined }, new FixedClock()).chains.get("a")!;
}
const removed = { type: KEYS, address: owner, transactionId: first, index: 3, height: 7n, removedKeyIndex: 1 };
const claimed = { type: INBOX, address: owner, transactionId: second, index: 4, height: 7n };

it("reads the events of a block that somebody filled by type, and those of a type from its transactions", async () => {
  const read = () => chain().accountEvents([KEYS, INBOX], 7n, 7n, signal);
  expect(await read()).toEqual([removed, claimed]);
  expect(asked).toHaveLength(2);
  asked.length = 0;
  filled = new Map([[KEYS, 5]]);
  expect(await read()).toEqual([removed, claimed]);
  expect(asked.slice(2)).toEqual([KEYS]);
  asked.length = 0;
  filled = new Map([
    [KEYS, 33],
    [INBOX, 5],
  ]);
  expect(await read()).toEqual([removed, claimed]);
  const transactions = ["blocks", "collections", "transaction_results", "transaction_results"];
  expect(asked.slice(2)).toEqual([KEYS, ...transactions, INBOX]);
}, 20_000);

it("settles the fees of a block that somebody filled with withdrawals", async () => {
  filled = new Map([[WITHDRAWN, 33]]);
  expect(await chain().paidTransactions(7n, 7n, signal)).toEqual([
    { proposer: owner, keyId: 1, sequenceNumber: 7n, computation: 394n, fees: 1000n },
  ]);
}, 20_000);

it("reads several blocks only where their events fit into one answer: fewer are read the next time", async () => {
  filled = new Map([[KEYS, 5]]);
  await expect(chain().accountEvents([KEYS], 6n, 7n, signal)).rejects.toMatchObject({ name: "AccessApiError" });
  expect(asked).toEqual([KEYS]);
});

it("leaves a block for later whose transactions the node has not sealed", async () => {
  filled = new Map([[KEYS, 33]]);
  status = "Executed";
  await expect(chain().accountEvents([KEYS], 7n, 7n, signal)).rejects.toMatchObject({ name: "AccessApiError" });
}, 20_000);

it.each([400, 404, 429])("asks no more of a node that lacks the block or is asked too often: %s", async (rejected) => {
  eventsStatus = rejected;
  await expect(chain().accountEvents([KEYS], 7n, 7n, signal)).rejects.toMatchObject({ status: rejected });
  expect(asked).toEqual([KEYS]);
});

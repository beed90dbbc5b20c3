import { getEventListeners } from "node:events";
import { expect, it } from "vitest";
import { createAccessApi } from "./access-api.ts";

const result = (status: string, change: object = {}) =>
  Response.json({ status, status_code: 0, error_message: "", block_id: "ab".repeat(32), events: [], ...change });

it("reads an account's balance, also a large one", async () => {
  const asked: unknown[] = [];
  const fetch = async (url: unknown) => {
    asked.push(url);
    return Response.json({ address: "f8d6e0586b0a20c7", balance: "99999999999999999" });
  };
  const access = createAccessApi({ baseUrl: "http://node.test", fetch });
  expect(await access.balance("f8d6e0586b0a20c7")).toBe(99_999_999_999_999_999n);
  expect(asked).toEqual(["http://node.test/v1/accounts/f8d6e0586b0a20c7"]);
});

it("waitForSeal leaves no listener on the caller's signal", async () => {
  const answers = [result("Pending"), result("Executed"), result("Sealed")];
  const fetch = async () => answers.shift() as Response;
  const { signal } = new AbortController();
  const access = createAccessApi({ baseUrl: "http://node.test", fetch });
  await access.waitForSeal("cd".repeat(32), { signal, pollMs: 1 });
  expect(answers).toEqual([]);
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

it("waitForSeal ends as soon as the caller's signal aborts", async () => {
  const caller = new AbortController();
  const fetch = async () => {
    setTimeout(() => caller.abort(new Error("enough")), 1);
    return result("Pending");
  };
  const access = createAccessApi({ baseUrl: "http://node.test", fetch });
  const sealed = access.waitForSeal("cd".repeat(32), { signal: caller.signal, pollMs: 60_000 });
  await expect(sealed).rejects.toThrow("enough");
});

const KEY_ADDED = "flow.AccountKeyAdded";
const EVM_CREATED = "A.01.EVM.Created";
const payload = btoa(JSON.stringify({ type: "Event", value: { id: "some", fields: [] } }));
const eventOf = (type: string, index: string) => ({
  type,
  transaction_id: "cd".repeat(32),
  event_index: index,
  payload,
});
const inBlock = (events?: unknown[]) => Response.json([{ block_height: "7", events }]);

it("transactionResult asks for events of some types by the block, and only once it is sealed", async () => {
  const id = "cd".repeat(32);
  // Another transaction of the block has events of the type as well.
  const others = { ...eventOf(KEY_ADDED, "4"), transaction_id: "ef".repeat(32) };
  const keys = inBlock([others, eventOf(KEY_ADDED, "3"), eventOf(KEY_ADDED, "7")]);
  const evm = inBlock([eventOf(EVM_CREATED, "5"), eventOf(EVM_CREATED, "9")]);
  const answers = [result("Executed"), result("Sealed"), keys, evm];
  const asked: string[] = [];
  const fetch = async (url: unknown) => {
    asked.push(String(url).replace("http://node.test/v1/", ""));
    return answers.shift() as Response;
  };
  const access = createAccessApi({ baseUrl: "http://node.test", fetch });
  const read = () => access.transactionResult(id, undefined, [KEY_ADDED, EVM_CREATED]);
  expect(await read()).toMatchObject({ status: "Executed", events: [] });
  const events = [3, 5, 7, 9].map((index) => ({ transactionId: id, index }));
  expect(await read()).toMatchObject({ status: "Sealed", events });
  const status = `transaction_results/${id}?select=block_id,status,status_code,error_message`;
  const ofBlock = [KEY_ADDED, EVM_CREATED].map((type) => `events?type=${type}&block_ids=${"ab".repeat(32)}`);
  expect(asked).toEqual([status, status, ...ofBlock]);
});

it.each([
  ["has no such block", () => new Response("no block", { status: 404 })],
  ["has none", () => inBlock()],
  ["has those of one type only", (type: string) => inBlock(type === KEY_ADDED ? [eventOf(type, "1")] : [])],
  ["does not answer", () => new Response("", { status: 503 })],
])("transactionResult reads all events where the node that is asked for some %s", async (_, answer) => {
  const asked: string[] = [];
  const fetch = async (input: unknown) => {
    const url = new URL(String(input));
    asked.push(url.pathname);
    if (url.pathname === "/v1/events") return answer(url.searchParams.get("type")!);
    if (url.searchParams.has("select")) return result("Sealed");
    return result("Sealed", { events: [eventOf("other", "1"), eventOf(KEY_ADDED, "2"), eventOf(EVM_CREATED, "3")] });
  };
  const access = createAccessApi({ baseUrl: "http://node.test", fetch });
  const found = await access.transactionResult("cd".repeat(32), undefined, [KEY_ADDED, EVM_CREATED]);
  expect(found?.events.map(({ type }) => type)).toEqual([KEY_ADDED, EVM_CREATED]);
  expect(asked).toHaveLength(4);
});

it("transactionResult has an error without NUL, and refuses an event of no transaction", async () => {
  const read = (answer: object) =>
    createAccessApi({
      baseUrl: "http://node.test",
      fetch: async () => result("Sealed", answer),
    }).transactionResult("cd".repeat(32));
  expect(await read({ status_code: 1, error_message: "a\0b" })).toMatchObject({ errorMessage: "a\ufffdb" });
  const event = { ...eventOf(KEY_ADDED, "1"), transaction_id: "\0" };
  await expect(read({ events: [event] })).rejects.toThrow("has an unknown shape");
});

it("transactionResult asks for no events of a transaction that failed", async () => {
  let asked = 0;
  const fetch = async () => {
    asked += 1;
    return result("Sealed", { status_code: 1, error_message: "no" });
  };
  const access = createAccessApi({ baseUrl: "http://node.test", fetch });
  const found = await access.transactionResult("cd".repeat(32), undefined, [KEY_ADDED]);
  expect(found).toMatchObject({ errorMessage: "no", events: [] });
  expect(asked).toBe(1);
});

it("reads a transaction whose script and arguments are no UTF-8: the chain executes them too", async () => {
  const base64 = (...parts: string[]) => Buffer.from(parts.join(""), "latin1").toString("base64");
  const account = "f8d6e0586b0a20c7";
  const fetch = async () =>
    Response.json({
      script: base64("// \u00ff\u00fe\ntransaction {}"),
      arguments: [base64('{"type":"String","value":"\u00ff"}'), Buffer.from('"é"').toString("base64")],
      proposal_key: { address: account, key_index: "0", sequence_number: "7" },
      payer: account,
      authorizers: [account],
    });
  const access = createAccessApi({ baseUrl: "http://node.test", fetch });
  expect(await access.transaction("cd".repeat(32))).toMatchObject({
    script: "// \ufffd\ufffd\ntransaction {}",
    arguments: ['{"type":"String","value":"\ufffd"}', '"é"'],
  });
});

it.each([400, 500, 429])(
  "submit: a node that also fails the question for the result (%i) is no answer",
  async (status) => {
    const fetch = async (_: unknown, init?: RequestInit) =>
      new Response("", { status: init?.method === "POST" ? 503 : status });
    const access = createAccessApi({ baseUrl: "http://node.test", fetch });
    const account = "f8d6e0586b0a20c7";
    const transaction = {
      script: "transaction {}",
      arguments: [],
      referenceBlockId: "ab".repeat(32),
      gasLimit: 100n,
      proposalKey: { address: account, keyId: 0, sequenceNumber: 7n },
      payer: account,
      authorizers: [account],
      payloadSignatures: [],
      envelopeSignatures: [],
    };
    await expect(access.submit(transaction)).rejects.toMatchObject({ status: 0 });
  },
);

const heights = (from: number, to: number, events: Record<number, unknown[]> = {}) =>
  Response.json(
    Array.from({ length: to - from + 1 }, (_, i) => ({ block_height: String(from + i), events: events[from + i] })),
  );

it("events go on where an answer ends early: a node that lags behind leaves out the blocks that it lacks", async () => {
  const answers = [heights(5, 7, { 6: [eventOf(KEY_ADDED, "1")] }), heights(8, 9, { 9: [eventOf(KEY_ADDED, "2")] })];
  const asked: string[] = [];
  const fetch = async (url: unknown) => {
    asked.push(new URL(String(url)).search);
    return answers.shift() as Response;
  };
  const access = createAccessApi({ baseUrl: "http://node.test", fetch });
  expect((await access.events(KEY_ADDED, 5n, 9n)).map(({ index, height }) => [index, height])).toEqual([
    [1, 6n],
    [2, 9n],
  ]);
  expect(asked).toEqual([5, 8].map((start) => `?type=${KEY_ADDED}&start_height=${start}&end_height=9`));
});

it.each([
  ["no blocks", () => heights(5, 4)],
  ["earlier blocks only", () => heights(1, 4)],
])("events are refused where the answer has %s", async (_, answer) => {
  const access = createAccessApi({ baseUrl: "http://node.test", fetch: async () => answer() });
  await expect(access.events(KEY_ADDED, 5n, 9n)).rejects.toThrow("has no blocks from 5 on");
});

it.each(["https", "HTTPS"])(
  "names the node that did not answer, without what its %s URL may keep secret",
  async (of) => {
    const baseUrl = `${of}://user:password@node.example:8443/key-of-the-provider?key=1`;
    const access = createAccessApi({ baseUrl, fetch: () => Promise.reject(new TypeError("fetch failed")) });
    await expect(access.latestSealedBlock()).rejects.toThrow(
      `no answer from the access node ${of}://node.example:8443 to /v1/`,
    );
  },
);

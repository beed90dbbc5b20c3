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

it("transactionResult asks for events of some types by the block, and only once it is sealed", async () => {
  const id = "cd".repeat(32);
  const payload = btoa(JSON.stringify({ type: "Event", value: { id: "flow.AccountKeyAdded", fields: [] } }));
  const event = (transaction: string) => ({
    type: "flow.AccountKeyAdded",
    transaction_id: transaction,
    event_index: "3",
    payload,
  });
  // Another transaction of the block has events of the type as well.
  const blocks = [{ block_height: "7", events: [event("ef".repeat(32)), event(id)] }];
  const answers = [result("Executed"), result("Sealed"), Response.json(blocks)];
  const asked: string[] = [];
  const fetch = async (url: unknown) => {
    asked.push(String(url).replace("http://node.test/v1/", ""));
    return answers.shift() as Response;
  };
  const access = createAccessApi({ baseUrl: "http://node.test", fetch });
  const read = () => access.transactionResult(id, undefined, ["flow.AccountKeyAdded"]);
  expect(await read()).toMatchObject({ status: "Executed", events: [] });
  expect(await read()).toMatchObject({ status: "Sealed", events: [{ transactionId: id, index: 3 }] });
  const status = `transaction_results/${id}?select=block_id,status,status_code,error_message`;
  const block = "ab".repeat(32);
  expect(asked).toEqual([status, status, `events?type=flow.AccountKeyAdded&block_ids=${block}`]);
});

it.each([
  ["has no such block", () => new Response("no block", { status: 404 })],
  ["has none", () => Response.json([{ block_height: "7" }])],
  ["does not answer", () => new Response("", { status: 503 })],
])("transactionResult reads all events where the node that is asked for some %s", async (_, answer) => {
  const id = "cd".repeat(32);
  const asked: string[] = [];
  const payload = btoa(JSON.stringify({ type: "Event", value: { id: "some", fields: [] } }));
  const event = (type: string) => ({ type, transaction_id: id, event_index: "1", payload });
  const fetch = async (url: unknown) => {
    asked.push(String(url));
    if (String(url).includes("/v1/events")) return answer();
    if (String(url).includes("select")) return result("Sealed");
    return result("Sealed", { events: [event("other"), event("flow.AccountKeyAdded")] });
  };
  const access = createAccessApi({ baseUrl: "http://node.test", fetch });
  const found = await access.transactionResult(id, undefined, ["flow.AccountKeyAdded"]);
  expect(found).toMatchObject({ status: "Sealed", events: [{ type: "flow.AccountKeyAdded" }] });
  expect(asked).toHaveLength(3);
});

it("transactionResult asks for no events of a transaction that failed", async () => {
  let asked = 0;
  const fetch = async () => {
    asked += 1;
    return result("Sealed", { status_code: 1, error_message: "no" });
  };
  const access = createAccessApi({ baseUrl: "http://node.test", fetch });
  const found = await access.transactionResult("cd".repeat(32), undefined, ["flow.AccountKeyAdded"]);
  expect(found).toMatchObject({ errorMessage: "no", events: [] });
  expect(asked).toBe(1);
});

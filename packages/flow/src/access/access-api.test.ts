import { getEventListeners } from "node:events";
import { expect, it } from "vitest";
import { createAccessApi } from "./access-api.ts";

const result = (status: string) =>
  Response.json({ status, status_code: 0, error_message: "", block_id: "ab".repeat(32), events: [] });

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

import { getEventListeners } from "node:events";
import { expect, it } from "vitest";
import { createAccessApi } from "./access-api.ts";

const result = (status: string) =>
  Response.json({ status, status_code: 0, error_message: "", block_id: "ab".repeat(32), events: [] });

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

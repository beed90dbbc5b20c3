import { describe, expect, it } from "vitest";
import { DeadlineError, fetchText } from "./deadline.ts";

/** As Expo's: it rejects with an error of its own, also where the signal aborted. */
const expoFetch = (signal: AbortSignal): Promise<Response> =>
  new Promise((_, reject) => {
    const fail = () => reject(new Error("fetch failed: The operation was aborted."));
    if (signal.aborted) fail();
    signal.addEventListener("abort", fail);
  });

describe("fetching a text", () => {
  it("rejects with TypeError where the connection failed, on each platform", async () => {
    const expos = new Error("fetch failed: Unable to resolve host");
    const failed = fetchText(1_000, undefined, () => Promise.reject(expos));
    await expect(failed).rejects.toMatchObject({ name: "TypeError", cause: expos });
    const nodes = new TypeError("fetch failed");
    await expect(fetchText(1_000, undefined, () => Promise.reject(nodes))).rejects.toBe(nodes);
  });

  it("rejects with DeadlineError when the time is over, also while the body is read", async () => {
    await expect(fetchText(10, undefined, expoFetch)).rejects.toThrow(DeadlineError);
    const slow = (signal: AbortSignal) => Promise.resolve({ text: () => expoFetch(signal) } as unknown as Response);
    await expect(fetchText(10, undefined, slow)).rejects.toThrow(DeadlineError);
  });

  it("rejects with the caller's reason when it aborts", async () => {
    const abort = new AbortController();
    const failed = fetchText(1_000, abort.signal, expoFetch);
    const reason = new Error("enough");
    abort.abort(reason);
    await expect(failed).rejects.toBe(reason);
  });

  it("returns the answer and its text", async () => {
    const { response, text } = await fetchText(1_000, undefined, async () => new Response("hello", { status: 201 }));
    expect([response.status, text]).toEqual([201, "hello"]);
  });
});

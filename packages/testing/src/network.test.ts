import { CountersignClient, ProblemError } from "@countersign/client";
import { generateDeviceKey } from "@countersign/client/node";
import { beforeEach, expect, it } from "vitest";
import { TestClock } from "./clock.ts";
import { TestNetwork } from "./network.ts";

let handled: string[];
let network: TestNetwork;
const url = (path: string) => `http://gateway.test${path}`;
const get = (path: string, init?: RequestInit) => network.fetch(url(path), init);

beforeEach(() => {
  handled = [];
  network = new TestNetwork(async (input, init) => {
    handled.push(`${init?.method ?? "GET"} ${new URL(String(input)).pathname}`);
    return Response.json({ ok: true });
  });
});

it("passes everything on and remembers it", async () => {
  expect(await (await get("/a?b=c")).json()).toEqual({ ok: true });
  expect(network.requests).toEqual([{ method: "GET", path: "/a?b=c", outcome: "sent" }]);
});

it("fails requests that fit, as often as it was asked", async () => {
  network.failRequest({ method: "post", path: "/a", times: 2 });
  await expect(get("/a", { method: "POST" })).rejects.toThrow(TypeError);
  await get("/a");
  await get("/a/b", { method: "POST" });
  await expect(get("/a", { method: "POST" })).rejects.toThrow("fetch failed");
  await get("/a", { method: "POST" });
  expect(handled).toEqual(["GET /a", "POST /a/b", "POST /a"]);
  expect(network.requests.map(({ outcome }) => outcome)).toEqual(["failed", "sent", "sent", "failed", "sent"]);
});

it("loses an answer after the server has handled the request", async () => {
  network.loseAnswer({ path: /^\/auth/ });
  await get("/other");
  await expect(get("/auth/v1/refresh")).rejects.toThrow(TypeError);
  await get("/auth/v1/refresh");
  expect(handled).toEqual(["GET /other", "GET /auth/v1/refresh", "GET /auth/v1/refresh"]);
});

it("delays an answer until a test lets it arrive, or the request is given up", async () => {
  const clock = new TestClock();
  network.delayAnswer(clock.sleep(100));
  let arrived = false;
  const answered = get("/a").then(() => {
    arrived = true;
  });
  await expect.poll(() => handled).toEqual(["GET /a"]);
  expect(arrived).toBe(false);
  clock.advance(100);
  await answered;

  const controller = new AbortController();
  network.delayAnswer(clock.sleep(100));
  const abandoned = get("/b", { signal: controller.signal });
  await expect.poll(() => handled).toHaveLength(2);
  controller.abort(new Error("given up"));
  await expect(abandoned).rejects.toThrow("given up");

  network.delayAnswer(1);
  expect((await get("/c")).status).toBe(200);
});

it("answers in the server's place, as a client reads it", async () => {
  const client = new CountersignClient({
    baseUrl: url(""),
    deviceKey: generateDeviceKey(),
    fetch: network.fetch,
    credentials: { accessToken: "a", refreshToken: "r" },
  });
  network.answer(403, { error: "AccountFrozen", title: "Frozen" }, { path: "/auth/v1/signin/challenge" });
  const refused = await client.requestChallenge({ chainName: "flow-emulator" }).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(ProblemError);
  expect(refused).toMatchObject({ status: 403, error: "AccountFrozen" });
  expect(handled).toEqual([]);
  network.answer(200, { fine: true });
  expect(await (await get("/a")).json()).toMatchObject({ fine: true });
});

it("is offline until it heals", async () => {
  network.goOffline();
  for (let count = 0; count < 5; count++) await expect(get("/a")).rejects.toThrow("fetch failed");
  network.heal();
  await get("/a");
  expect(handled).toEqual(["GET /a"]);
});

it("takes a Request as fetch does", async () => {
  network.failRequest({ method: "PUT" });
  await expect(network.fetch(new Request(url("/a"), { method: "PUT" }))).rejects.toThrow(TypeError);
  expect(network.requests).toEqual([{ method: "PUT", path: "/a", outcome: "failed" }]);
});

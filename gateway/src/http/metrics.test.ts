import { METHODS } from "node:http";
import { connect } from "node:net";
import { createMetrics } from "@countersign/runtime";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../testing/test-gateway.ts";
import { createHttpMetrics } from "./metrics.ts";

const metrics = createMetrics("gateway", { defaults: false });
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ observe: createHttpMetrics(metrics) });
});
afterAll(() => gateway.stop());

/** Sends a request with this first line and reads its answer to the end. */
async function send(line: string, ...headers: string[]): Promise<void> {
  const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1");
  socket.write([`${line} HTTP/1.1`, "Host: x", "Connection: close", ...headers, "", ""].join("\r\n"));
  socket.resume();
  await new Promise((resolve) => socket.once("close", resolve));
}

it("no label comes from what a client sends", async () => {
  const verbs = METHODS.filter((method) => method !== "CONNECT");
  for (const verb of verbs) await send(`${verb} /account/v1/me`);
  const paths = ["/nowhere", "/auth/v1/sessions/forged", "/account/v1/me/", "/__proto__", "/x{}", "//x", "*", "/%ff"];
  for (const path of paths) await send(`${path === "*" ? "OPTIONS" : "GET"} ${path}`);
  await send("GET http://forged.example/account/v1/me", "X-Request-Id: forged-id", "X-Forwarded-For: 203.0.113.9");
  const answered = verbs.length + paths.length + 1;

  const labels = async (name: string) => {
    const text = await metrics.registry.metrics();
    return [...text.matchAll(new RegExp(`[{,]${name}="([^"]*)"`, "g"))].map(([, value]) => value!);
  };
  const counted = async () => {
    const text = await metrics.registry.metrics();
    return [...text.matchAll(/_count\{.*\} (\d+)$/gm)].reduce((sum, [, count]) => sum + Number(count), 0);
  };
  await expect.poll(counted).toBe(answered);
  const methods = new Set(["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "OTHER"]);
  const routes = new Set(["none", "/", "/openapi.json", "/callback", ...gateway.routes.map(({ path }) => path)]);
  expect((await labels("method")).filter((method) => !methods.has(method))).toEqual([]);
  expect((await labels("route")).filter((route) => !routes.has(route))).toEqual([]);
  expect((await labels("status")).filter((status) => !/^[245]\d\d$/.test(status))).toEqual([]);
});

import { get } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Child } from "./child.ts";

/** Answers a GET's status, or 0. Not fetch: that refuses port 6000, which the gateway's health is on. */
function statusOf(url: string): Promise<number> {
  return new Promise((resolve) => {
    const request = get(url, { timeout: 2000, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    request.on("timeout", () => request.destroy());
    request.on("error", () => resolve(0));
  });
}

const READY_MS = 90_000;

/** Polls `url` until it answers 200; calls `failed` when the child ends first or after READY_MS. */
export async function waitFor(child: Child, url: string, failed: (why: string) => Promise<never>): Promise<void> {
  const deadline = performance.now() + READY_MS;
  for (;;) {
    if (!child.running()) return failed(`ended with ${await child.exited}`);
    if (performance.now() > deadline) return failed(`was not ready after ${READY_MS / 1000} s`);
    if ((await statusOf(url)) === 200) return;
    await sleep(80);
  }
}

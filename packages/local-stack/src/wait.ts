import { get } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { Failure } from "@countersign/build/fail.ts";
import { type Child, logTail } from "./child.ts";

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

/** Polls `url` until it answers 200. Error: Failure where the child ends first, or after READY_MS. */
export async function waitFor(child: Child, url: string): Promise<void> {
  const failed = (why: string) =>
    new Failure(`${child.name} ${why}; the end of ${child.logFile}:\n${logTail(child.logFile)}`);
  const deadline = performance.now() + READY_MS;
  for (;;) {
    if (!child.running()) throw failed(`ended with ${await child.exited}`);
    if (performance.now() > deadline) throw failed(`was not ready after ${READY_MS / 1000} s`);
    if ((await statusOf(url)) === 200) return;
    await sleep(80);
  }
}

import { AppError } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { expect, it } from "vitest";
import type { Deployed, SignUpSaga } from "../domain/sign-up/sign-up-saga.ts";
import { finishAbandonedSignUps } from "./finish-abandoned-sign-ups.ts";

const logger = { warn: () => undefined };

it("waits a second for a chain that stands still, so that the sign-ups behind it begin, and continues when no call of this run is under way", async () => {
  const clock = new FixedClock();
  const [waits, marked]: [number[], unknown[]] = [[], []];
  const run = finishAbandonedSignUps({
    store: {
      mark: async (_saga, steps) => void marked.push(steps),
      giveUp: async () => expect.unreachable(),
      leaseAbandoned: async (now, leaseUntil) => {
        waits.push(leaseUntil.getTime() - now.getTime());
        return [{ accountId: "account", done: new Set() } as unknown as SignUpSaga];
      },
    },
    steps: {
      async deployAccount(_saga, { waitMs }) {
        waits.push(waitMs);
        return { status: "pending" };
      },
      registerKey: async () => undefined,
      registerDevice: async () => undefined,
    },
    clock,
    logger,
  });
  await run(new AbortController().signal);
  expect(waits).toEqual([20_000, 1_000]);
  expect(marked).toEqual([["RegisterKey", "RegisterDevice"]]);
});

async function runWith(deploy: () => Promise<Deployed>): Promise<unknown[]> {
  const calls: unknown[] = [];
  const saga = { accountId: "account", done: new Set() } as unknown as SignUpSaga;
  const run = finishAbandonedSignUps({
    store: {
      mark: async () => void calls.push("marked"),
      giveUp: async ({ accountId }) => void calls.push(`gave up ${accountId}`),
      leaseAbandoned: async () => [saga],
    },
    steps: {
      async deployAccount(_saga, { keepFailed }) {
        calls.push({ keepFailed });
        return deploy();
      },
      registerKey: async () => void calls.push("key"),
      registerDevice: async () => void calls.push("device"),
    },
    clock: new FixedClock("2026-11-21T10:00:00Z"),
    logger,
  });
  await run(new AbortController().signal);
  return calls;
}

it("keeps a deployment that the chain refused as it is, and gives it up", async () => {
  expect(await runWith(async () => ({ status: "failed" }))).toEqual([{ keepFailed: true }, "gave up account"]);
});

it.each([
  ["UnknownChain", ["gave up account"]],
  ["Unavailable", []],
] as const)("gives up a sign-up of a chain that is not configured any more: %s", async (reason, expected) => {
  const calls = await runWith(() => Promise.reject(new AppError(reason)));
  expect(calls).toEqual([{ keepFailed: true }, ...expected]);
});

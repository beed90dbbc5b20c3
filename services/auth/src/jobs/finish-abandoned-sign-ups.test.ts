import type { Logger } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { expect, it } from "vitest";
import type { SignUpSaga } from "../domain/sign-up/sign-up-saga.ts";
import { finishAbandonedSignUps } from "./finish-abandoned-sign-ups.ts";

it("keeps a deployment that the chain refused as it is, and gives it up", async () => {
  const calls: unknown[] = [];
  const saga = { accountId: "account", done: new Set() } as unknown as SignUpSaga;
  const run = finishAbandonedSignUps({
    store: {
      lease: async () => ({ kind: "account-exists", isOnChain: true }),
      mark: async () => void calls.push("marked"),
      giveUp: async ({ accountId }) => void calls.push(`gave up ${accountId}`),
      leaseAbandoned: async () => [saga],
    },
    steps: {
      async deployAccount(_saga, { keepFailed }) {
        calls.push({ keepFailed });
        return { status: "failed" };
      },
      registerKey: async () => void calls.push("key"),
      registerDevice: async () => void calls.push("device"),
    },
    clock: new FixedClock("2026-11-21T10:00:00Z"),
    logger: { warn: () => undefined } as unknown as Logger,
  });
  await run(new AbortController().signal);
  expect(calls).toEqual([{ keepFailed: true }, "gave up account"]);
});

import { systemClock } from "@countersign/core";
import { createLogger } from "@countersign/runtime";
import { afterEach, expect, it, vi } from "vitest";
import { auditKeys, signedText } from "../testing/audit-fixture.ts";
import { allHeadsHash, checkpointText, FIRST_PREVIOUS_HASH } from "./checkpoint.ts";
import type { CheckpointStore } from "./checkpoint-store.ts";
import { startCheckpointer } from "./checkpointer.ts";

afterEach(() => vi.restoreAllMocks());

it("a file that cannot be written, on a full volume for example, is an alarm though checkpoints are made", async () => {
  const heads = { chainCount: 0, headsHash: allHeadsHash([]), heads: [], closed: [] };
  const checkpoint = { sequence: 1, time: new Date(0), previousHash: FIRST_PREVIOUS_HASH, keyVersion: 1, ...heads };
  const made = [signedText(checkpointText(checkpoint))];
  const store: CheckpointStore = {
    write: async () => true,
    after: async () => made,
    lastArchive: async () => undefined,
    closedChains: async () => [],
  };
  let now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => now);
  const runs = Promise.withResolvers<void>();
  let alarms = 0;
  const checkpointer = startCheckpointer({
    store,
    signer: { version: () => 1, sign: () => Promise.reject(new Error("nothing to sign")), keys: auditKeys },
    ownHead: () => undefined,
    file: {
      last: () => ({ sequence: 0, hash: FIRST_PREVIOUS_HASH }),
      continueAt: () => {},
      append() {
        now += 1000;
        if (now > 3000) runs.resolve();
        return Promise.reject(Object.assign(new Error("write failed"), { code: "ENOSPC" }));
      },
    },
    intervalMs: 5,
    stalledMs: 1500,
    onAlarm: () => {
      alarms += 1;
    },
    clock: systemClock,
    logger: createLogger({ name: "test", level: "silent" }),
  });
  await runs.promise;
  await checkpointer.close();
  expect(alarms).toBeGreaterThan(0);
});

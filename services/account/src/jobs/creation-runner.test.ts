import { AppError } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { createLogger } from "@countersign/runtime";
import { expect, it } from "vitest";
import type { Chain } from "../domain/creations/chain.ts";
import type { Creation } from "../domain/creations/creation.ts";
import type { CreationSigner, CreationStore, Lease } from "../domain/ports.ts";
import { startCreationRunner } from "./creation-runner.ts";

const creation: Creation = {
  id: "creation",
  chainName: "flow",
  keyIndex: 2,
  sequenceNumber: undefined,
  state: "assigned",
  accountIds: ["a"],
  serverKeys: [],
  serverKeyVersion: 1,
  userKeys: [],
  traces: [],
  transaction: undefined,
  transactionId: "",
  referenceHeight: undefined,
};

/** For how many milliseconds a creation is left that the signer answers so. */
async function leftFor(refusal: AppError): Promise<number> {
  const clock = new FixedClock();
  const kept = Promise.withResolvers<Lease>();
  const waiting = [creation];
  const ended: string[] = [];
  const store: Pick<CreationStore, "assign" | "takeOver" | "moveLeaseEnd"> = {
    assign: async () => waiting.shift(),
    takeOver: async () => undefined,
    async moveLeaseEnd(_id, lease) {
      kept.resolve(lease);
      return true;
    },
  };
  const signer: Pick<CreationSigner, "deriveServerKeys"> = { deriveServerKeys: () => Promise.reject(refusal) };
  const chain: Pick<Chain, "chainName" | "creator" | "latestBlock" | "sequenceNumber"> = {
    chainName: "flow",
    creator: { address: "e03daebed8ca0615", keyCount: 8 },
    latestBlock: async () => ({ id: "ab".repeat(32), height: 1n }),
    sequenceNumber: async () => 5n,
  };
  const runner = startCreationRunner({
    store: store as CreationStore,
    signer: signer as CreationSigner,
    chains: new Map([["flow", chain as Chain]]),
    onEnd: ({ id }) => ended.push(id),
    clock,
    logger: createLogger({ name: "test", level: "silent" }),
    parallel: 1,
    collectMs: 0,
    refusedRetryMs: 15_000,
  });
  const { until } = await kept.promise;
  await runner.close();
  // Requests that wait for its deployments look at them again.
  expect(ended).toEqual([creation.id]);
  return until.getTime() - clock.now().getTime();
}

it("a creation that failed half-way is taken up again soon", async () => {
  expect(await leftFor(new AppError("Unavailable"))).toBe(1_000);
});

it.each(["BudgetExceeded", "SwitchedOff"])(
  "a creation that is refused with %s is taken up again after a while, not all at once",
  async (reason) => {
    const forNow = new AppError("SigningRefused", { metadata: { reason } });
    const waits = await Promise.all(Array.from({ length: 10 }, () => leftFor(forNow)));
    for (const wait of waits) {
      expect(wait).toBeGreaterThanOrEqual(15_000);
      expect(wait).toBeLessThanOrEqual(30_000);
    }
    expect(new Set(waits).size).toBeGreaterThan(1);
  },
);

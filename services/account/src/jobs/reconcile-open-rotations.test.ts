import { expect, it } from "vitest";
import type { ServerKeyRotation } from "../domain/server-keys/server-key-rotation.ts";
import { reconcileOpenRotations } from "./reconcile-open-rotations.ts";

/** Runs the job on sixty rotations, of which the oldest stay open. Returns those that it completed. */
async function completed(keepOpen: () => "submitted"): Promise<string[]> {
  const rows = Array.from({ length: 60 }, (_, n) => ({ accountId: `${n}` }) as ServerKeyRotation);
  const sealed = new Set<string>();
  const run = reconcileOpenRotations({
    rotations: {
      open: async (_chain, limit, { skip = 0 } = {}) =>
        rows.filter(({ accountId }) => !sealed.has(accountId)).slice(skip, skip + limit),
    },
    reconcile: async ({ accountId }) => {
      if (Number(accountId) < 55) return keepOpen();
      sealed.add(accountId);
      return "sealed";
    },
  });
  for (let n = 0; n < 3; n += 1) await run("flow", new AbortController().signal).catch(() => undefined);
  return [...sealed];
}
const newest = ["55", "56", "57", "58", "59"];

it("a rotation is completed although the signer refuses older ones each time", async () => {
  const refuse = () => {
    throw new Error("BindingConflict");
  };
  expect(await completed(refuse)).toEqual(newest);
});

it("a rotation is completed although older ones stay pending", async () => {
  expect(await completed(() => "submitted")).toEqual(newest);
});

it("a rotation that was refused has its turn again", async () => {
  const asked: string[] = [];
  const run = reconcileOpenRotations({
    rotations: {
      open: async (_chain, _limit, { skip = 0 } = {}) => [{ accountId: "0" } as ServerKeyRotation].slice(skip),
    },
    reconcile: async ({ accountId }) => {
      asked.push(accountId);
      throw new Error("BindingConflict");
    },
  });
  for (let n = 0; n < 2; n += 1)
    await expect(run("flow", new AbortController().signal)).rejects.toThrow("BindingConflict");
  expect(asked).toEqual(["0", "0"]);
});

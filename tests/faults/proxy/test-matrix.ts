import { randomInt } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createMatrix, type Faults, HOPS } from "./matrix.ts";
import { type ProxiedStack, startProxiedStack } from "./proxied-stack.ts";

export interface MatrixTest {
  /** Names the logs. */
  name: string;
  what: string;
  /** Whether calls go together on streams, or each as a request of its own. */
  coalesce: boolean;
  /** Faults that each hop gets where FAULT_ALL is not set; default all. */
  perHop?: number;
}

/** Defines the tests of every RPC of a person's flow under each of these faults. */
export function testMatrix(faults: Faults, { name, what, coalesce, perHop }: MatrixTest): void {
  const seed = Number(process.env.FAULT_SEED ?? randomInt(2 ** 31));
  const matrix = createMatrix(faults, { parallel: 16, seed, ...(perHop === undefined ? {} : { perHop }) });
  let proxied: ProxiedStack;
  let counted: string[];
  beforeAll(async () => {
    console.log(`FAULT_SEED=${seed}`);
    proxied = await startProxiedStack(name, seed, { CS_COALESCE_CALLS: String(coalesce) });
    counted = await matrix.start(proxied);
  });
  afterAll(() => proxied?.stop());

  describe(what, () => {
    it("the matrix has every RPC of a person's way", () => {
      expect(counted.sort()).toEqual([...HOPS].sort());
    });
    it.each([...matrix.names])("%s", (each) => matrix.result(each));
  });

  describe("afterwards", () => {
    it("no process has ended by itself", () => expect(proxied.died()).toEqual([]));
    it("each event is in the stream once, and each was emitted by a service", () => matrix.checkEvents());
    it("the signer has a record of every signature that anybody holds", () => matrix.checkSignatures());
  });
}

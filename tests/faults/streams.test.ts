import { randomInt } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createMatrix, HOPS } from "./proxy/matrix.ts";
import { type ProxiedStack, startProxiedStack } from "./proxy/proxied-stack.ts";

const SEED = Number(process.env.FAULT_SEED ?? randomInt(2 ** 31));

// What breaks a stream takes everything with it that is on it, also what other people wait for.
const matrix = createMatrix(
  {
    "the stream breaks before the request": { fault: { kind: "lose-request", as: "reset" } },
    "the stream breaks before the answer": { fault: { kind: "lose-answer", as: "reset" } },
    "three streams break before the answer": { fault: { kind: "lose-answer", as: "reset" }, times: 3 },
  },
  { parallel: 16, seed: SEED },
);

let proxied: ProxiedStack;
let counted: string[];
beforeAll(async () => {
  console.log(`FAULT_SEED=${SEED}`);
  proxied = await startProxiedStack("streams", SEED, { CS_COALESCE_CALLS: "true" });
  counted = await matrix.start(proxied);
});
afterAll(() => proxied?.stop());

describe("calls that go together on streams", () => {
  it("the matrix has every RPC of a person's way", () => {
    expect(counted.sort()).toEqual([...HOPS].sort());
  });
  it.each([...matrix.names])("%s", (name) => matrix.result(name));
});

describe("afterwards", () => {
  it("no process has ended by itself", () => expect(proxied.died()).toEqual([]));
  it("each event is in the stream once, and none that no service told", () => matrix.checkEvents());
  it("the signer has a record of every signature that anybody holds", () => matrix.checkSignatures());
});

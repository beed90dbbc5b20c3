import { randomInt } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createMatrix, HOPS } from "./proxy/matrix.ts";
import { type ProxiedStack, startProxiedStack } from "./proxy/proxied-stack.ts";

const SEED = Number(process.env.FAULT_SEED ?? randomInt(2 ** 31));

const matrix = createMatrix(
  {
    "request 4 s late": { fault: { kind: "delay-request", ms: 4_000 } },
    "answer 4 s late": { fault: { kind: "delay-answer", ms: 4_000 } },
    "answer lost with its stream": { fault: { kind: "lose-answer", as: "reset" } },
    "answer lost, told as UNAVAILABLE": { fault: { kind: "lose-answer", as: "unavailable" } },
    "four answers lost": { fault: { kind: "lose-answer", as: "unavailable" }, times: 4 },
    "request lost with its stream": { fault: { kind: "lose-request", as: "reset" } },
    "request lost, told as UNAVAILABLE": { fault: { kind: "lose-request", as: "unavailable" } },
    "request twice, first answer": { fault: { kind: "duplicate", answer: "first" } },
    "request twice, second answer": { fault: { kind: "duplicate", answer: "second" } },
    "request again after 1.5 s": { fault: { kind: "duplicate", answer: "first", gapMs: 1_500 } },
    "overtaken by the next": { fault: { kind: "reorder", atMostMs: 1_000 } },
  },
  { parallel: 16, perHop: 3, seed: SEED },
);

let proxied: ProxiedStack;
let counted: string[];
beforeAll(async () => {
  console.log(`FAULT_SEED=${SEED}`);
  // Each call a request of its own on the wire; streams of calls are broken in streams.test.ts.
  proxied = await startProxiedStack("network", SEED, { CS_COALESCE_CALLS: "false" });
  counted = await matrix.start(proxied);
});
afterAll(() => proxied?.stop());

describe("the network loses, doubles and delays", () => {
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

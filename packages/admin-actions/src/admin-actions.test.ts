import { FixedClock } from "@countersign/core/testing";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { describe, expect, it } from "vitest";
import { createActionLog } from "./action-log.ts";
import { administrator } from "./administrator.ts";
import { comparePage } from "./compare-page.ts";
import { onPersonErased } from "./on-person-erased.ts";

const accountId = "01a1fc59-f059-70b8-9ddc-021b7279cf4f";
const reason = "a ticket of today";

describe("an administrator", () => {
  const callOf = (person?: string) => {
    const lines: object[] = [];
    const logger = { info: (fields: object) => void lines.push(fields) };
    const call = { logger, ...(person && { person }) } as unknown as Parameters<typeof administrator>[0];
    return { call, lines };
  };

  it("is the certificate's person; the command is in the log before anything else", () => {
    const { call, lines } = callOf("ada");
    expect(administrator(call, "find", { reason: `  ${reason} `, accountId })).toEqual({ person: "ada", reason });
    expect(lines).toEqual([{ event: "admin-action", person: "ada", command: "find", why: reason, accountId }]);
  });

  it("without a person or a reason is refused, and not logged as one", () => {
    const { call, lines } = callOf();
    expect(() => administrator(call, "find", { reason })).toThrow("CallerNotAllowed");
    const named = callOf("ada");
    const reordered = "the quarter\u202e, by nobody";
    for (const wrong of ["", "too short", " ".repeat(20), "x".repeat(501), "a reason\nof two lines", reordered])
      expect(() => administrator(named.call, "find", { reason: wrong })).toThrow("InvalidRequest");
    expect(() => administrator(named.call, "find", { reason, accountId: "x" })).toThrow("InvalidRequest");
    expect([...lines, ...named.lines]).toEqual([]);
  });
});

describe("an act that is refused", () => {
  const refusing = (insert: () => Promise<number>) =>
    createActionLog({ query: async () => [], execute: insert }, new FixedClock("2026-11-23T10:00:00Z"));
  const act = (insert: () => Promise<number>) =>
    refusing(insert).act({ person: "ada", reason }, { command: "freeze" }, () => Promise.reject(new Error("first")));

  it("is recorded, and reports its own error also where that fails", async () => {
    let records = 0;
    await expect(act(async () => ++records)).rejects.toThrow("first");
    expect(records).toBe(1);
    await expect(act(() => Promise.reject(new Error("second")))).rejects.toThrow("first");
  });
});

describe("a comparison of accounts", () => {
  const collect = async (
    ids: string[],
    compare: (id: string) => Promise<string[]>,
    signal = new AbortController().signal,
  ) => {
    const found: [string, string[]][] = [];
    for await (const { accountId: id, differences } of comparePage(ids, compare, signal)) found.push([id, differences]);
    return found;
  };

  it("keeps the order, and an account that fails hides no other", async () => {
    const compare = async (id: string) => {
      if (id === "b") throw new Error("away");
      return id === "f" ? ["differs"] : [];
    };
    expect(await collect(["a", "b", "c", "d", "e", "f"], compare)).toEqual([
      ["a", []],
      ["b", ["not compared: away"]],
      ["c", []],
      ["d", []],
      ["e", []],
      ["f", ["differs"]],
    ]);
  });

  it("ends when nobody waits for it any more", async () => {
    const abort = new AbortController();
    let compared = 0;
    const compare = async () => {
      compared += 1;
      abort.abort();
      return [];
    };
    await expect(collect(Array(40).fill("a"), compare, abort.signal)).rejects.toThrow();
    expect(compared).toBeLessThanOrEqual(4);
  });
});

it("only an event of an erased person, with an account, erases", async () => {
  const erased: string[] = [];
  const handle = onPersonErased(async (id) => void erased.push(id));
  await handle({ event: Event.fromPartial({ accountId, accountLeft: {} }) });
  await handle({ event: Event.fromPartial({ accountId: "all", personErased: {} }) });
  expect(erased).toEqual([]);
  await handle({ event: Event.fromPartial({ accountId, personErased: {} }) });
  await handle({ event: Event.fromPartial({ accountId, personErased: {} }) });
  expect(erased).toEqual([accountId, accountId]);
});

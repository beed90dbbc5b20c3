import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { type ParserPool, type ParserPoolOptions, startParserPool } from "./parser-pool.ts";

const directory = mkdtempSync(join(tmpdir(), "countersign-parser-"));
afterAll(() => rmSync(directory, { recursive: true }));

/** Go's glue as far as the pool sees it, with a parser that does what the script says. */
const GLUE = `globalThis.Go = class {
  importObject = {};
  run() {
    globalThis.countersignParseCadence = (script) => {
      if (script.startsWith("forever")) for (;;);
      if (script === "throw") throw new Error("stack overflow");
      if (script === "exit") this.exit(2);
      if (script === "memory") { const all = []; for (;;) all.push(new Array(1e6).fill(Math.random())); }
      if (script === "nonsense") return undefined;
      if (script === "long") return JSON.stringify({ error: "😀".repeat(100_000) });
      if (script === "env") return JSON.stringify({ error: JSON.stringify(process.env) });
      return script === "bad" ? '{"error":"bad"}' : '{"program":{"node":"Program","Declarations":[]}}';
    };
    return new Promise(() => {});
  }
};`;
writeFileSync(join(directory, "wasm_exec.js"), GLUE);
writeFileSync(join(directory, "cadence-parser.wasm"), Buffer.from("0061736d01000000", "hex"));

let pool: ParserPool | undefined;
const replaced: string[] = [];
afterEach(async () => {
  await pool?.close();
  replaced.length = 0;
});
const start = async (options: ParserPoolOptions = {}) => {
  pool = await startParserPool({
    directory,
    workers: 1,
    timeLimitMs: 500,
    onReplaced: (why) => replaced.push(why),
    ...options,
  });
  const { facts, size } = pool;
  // Senders of their own, unless the test is about one of them.
  return { size, facts: (script: string, sender = `account-${accounts++}`) => facts(script, sender) };
};
let accounts = 0;

describe("the parser's workers", { timeout: 60_000 }, () => {
  it("say what is in a script, or that it is none", async () => {
    const { facts } = await start({ timeLimitMs: 10_000 });
    expect((await facts("fine")).problem).toBe("");
    expect((await facts("bad")).problem).toBe("bad");
  });

  it("are ended and replaced when a script takes too long, and the next one is read", async () => {
    const { facts } = await start();
    expect((await facts("forever")).problem).toBe("the script takes too long to understand");
    expect((await facts("fine")).problem).toBe("");
    expect(replaced).toEqual(["the script takes too long to understand"]);
  });

  it.each(["throw", "exit", "nonsense", "memory"])("are replaced when a script breaks them: %s", async (script) => {
    const { facts } = await start({ timeLimitMs: 20_000 });
    expect((await facts(script)).problem).toBe("the script breaks the parser");
    expect((await facts("fine")).problem).toBe("");
    expect(replaced).toHaveLength(1);
  });

  it("read on beside one that hangs", async () => {
    const { facts } = await start({ workers: 2, timeLimitMs: 50_000 });
    void facts("forever");
    expect((await facts("fine")).problem).toBe("");
    expect(replaced).toEqual([]);
  });

  it("are as many as scripts wait for, and one where none does", async () => {
    const { facts, size } = await start({ workers: 2, timeLimitMs: 300, idleMs: 100 });
    expect(size()).toBe(1);
    const hanging = facts("forever");
    const waiting = [facts("fine"), facts("fine")];
    expect(size()).toBe(2);
    await Promise.all([hanging, ...waiting]);
    await expect.poll(size, { timeout: 20_000 }).toBe(1);
    expect((await facts("fine")).problem).toBe("");
  });

  it("know nothing of our environment", async () => {
    const { facts } = await start({ timeLimitMs: 10_000 });
    expect((await facts("env")).problem).toBe("{}");
  });

  it("pass on no more than a line of what the parser says", async () => {
    const { facts } = await start({ timeLimitMs: 10_000 });
    expect((await facts("long")).problem).toBe("😀".repeat(200));
  });

  it("read the scripts of several accounts in turns, one of each at a time", async () => {
    const { facts } = await start({ workers: 2, timeLimitMs: 10_000 });
    const order: string[] = [];
    const read = async (sender: string, script: string) => {
      await facts(script, sender);
      order.push(`${sender} ${script}`);
    };
    await Promise.all([
      ...["1", "2", "3", "4"].map((script) => read("thief", script)),
      read("ada", "a"),
      read("bob", "b"),
    ]);
    // With two workers, at most one more script of the thief is read before each of the others'.
    expect(order.indexOf("ada a")).toBeLessThan(2);
    expect(order.indexOf("bob b")).toBeLessThan(3);
    expect(order.filter((each) => each.startsWith("thief"))).toEqual(["thief 1", "thief 2", "thief 3", "thief 4"]);
  });

  it("are never all taken by the scripts of one account", async () => {
    const { facts } = await start({ workers: 2, timeLimitMs: 50_000 });
    for (let i = 0; i < 20; i++) void facts(`forever ${i}`, "thief").catch(() => undefined);
    expect((await facts("fine", "ada")).problem).toBe("");
    expect(replaced).toEqual([]);
  });

  it("read nothing for a while for an account whose script cost one of them, and go on for others", async () => {
    let now = 1_000_000;
    const { facts } = await start({ timeLimitMs: 500, pauseMs: 60_000, monotonicMs: () => now });
    const slow = facts("forever", "thief");
    const queued = facts("fine", "thief");
    await expect(queued).rejects.toMatchObject({ reason: "RateLimited", retryAfterSeconds: 60 });
    expect((await slow).problem).toBe("the script takes too long to understand");
    expect((await facts("fine", "ada")).problem).toBe("");
    now += 59_000;
    await expect(facts("fine", "thief")).rejects.toMatchObject({ reason: "RateLimited", retryAfterSeconds: 1 });
    now += 1_000;
    expect((await facts("fine", "thief")).problem).toBe("");
    expect(replaced).toHaveLength(1);
  });

  it("turn scripts away when too many wait, or when they are too long", async () => {
    const { facts } = await start({ maxQueue: 2 });
    const waiting = ["forever", "fine", "fine"].map((script) => facts(script));
    await expect(facts("fine")).rejects.toMatchObject({ reason: "RateLimited" });
    expect((await facts("x".repeat(64 * 1024 + 1))).problem).toBe("the script is too long");
    await Promise.all(waiting);
  });

  it("do not start without a parser, or with another one", async () => {
    await expect(startParserPool({ directory: join(directory, "nowhere") })).rejects.toThrow("ENOENT");
    const other = mkdtempSync(join(tmpdir(), "countersign-parser-"));
    writeFileSync(join(other, "wasm_exec.js"), GLUE.replace("countersignParseCadence", "somethingElse"));
    writeFileSync(join(other, "cadence-parser.wasm"), Buffer.from("0061736d01000000", "hex"));
    await expect(startParserPool({ directory: other })).rejects.toThrow("does not start");
    rmSync(other, { recursive: true });
  });
});

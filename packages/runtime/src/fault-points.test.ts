import { mkdtempSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  asOperation,
  enableFaultPoints,
  type FaultPointReport,
  withCommitPoints,
  withFaultPoints,
} from "@countersign/core";
import { afterEach, describe, expect, it, test } from "vitest";
import { startService } from "./process.ts";

const path = join(mkdtempSync(join(tmpdir(), "countersign-fault-points-")), "controller.sock");
let server: Server | undefined;

/** Starts a controller that passes its reports to `judge`, which answers or does not. */
async function controller(judge: (report: FaultPointReport, socket: Socket) => void): Promise<void> {
  server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.setEncoding("utf8").on("data", (text: string) => {
      for (const line of text.trim().split("\n")) judge(JSON.parse(line) as FaultPointReport, socket);
    });
  });
  await new Promise<void>((resolve) => server?.listen(path, resolve));
}

/** Enables fault points of the program "try"; returns what will be reported. */
async function record(): Promise<FaultPointReport[]> {
  const seen: FaultPointReport[] = [];
  await controller((report, socket) => {
    seen.push(report);
    socket.write(`${report.id}\n`);
  });
  enableFaultPoints(path, "try");
  return seen;
}

const points = (reports: readonly FaultPointReport[]) => reports.map(({ point }) => point);

/** A port with a write, a read, a synchronous method and private state, over a database. */
class Store {
  readonly #written: string[] = [];
  readonly database: { $transaction<T>(work: (transaction: object) => Promise<T>): Promise<T> };
  constructor(database: Store["database"]) {
    this.database = database;
  }
  write(text: string): Promise<number> {
    return this.database.$transaction(async () => this.#written.push(text));
  }
  async find(): Promise<readonly string[]> {
    return this.#written;
  }
  count(): number {
    return this.#written.length;
  }
}
const database = { $transaction: <T>(work: (transaction: object) => Promise<T>): Promise<T> => work({}) };
const openStore = () =>
  withFaultPoints("store", new Store(withCommitPoints(database)), { write: (text) => text, count: false });

afterEach(() => {
  server?.close();
});

// The first one: a process that reports fault points does so until it ends.
test("without a controller nothing is wrapped", () => {
  const store = new Store(database);
  const work = async () => undefined;
  expect(withFaultPoints("store", store, { count: false })).toBe(store);
  expect(withCommitPoints(database)).toBe(database);
  expect(asOperation("work", work)).toBe(work);
});

test("the controller receives point and process, and lets the process continue", async () => {
  const seen = await record();
  const begun = asOperation("begun", async () => "done");
  expect(await begun()).toBe("done");
  expect(seen.map(({ point, pid }) => ({ point, pid }))).toEqual([
    { point: "try/begun begins", pid: process.pid },
    { point: "try/begun ends", pid: process.pid },
  ]);
});

test("a process does not wait again at a point that the controller leaves free", async () => {
  const seen: string[] = [];
  await controller(({ id, point }, socket) => {
    seen.push(point);
    if (seen.length <= 2) socket.write(`${id} free\n`);
  });
  enableFaultPoints(path, "try");
  const work = asOperation("work", async () => "done");
  expect([await work(), await work()]).toEqual(["done", "done"]);
  await expect.poll(() => seen).toHaveLength(4);
});

test("a controller that goes away does not block the process", async () => {
  await controller((_, socket) => socket.destroy());
  enableFaultPoints(path, "try");
  const work = asOperation("work", async () => "done");
  expect(await work()).toBe("done");
  server?.close();
  expect(await work()).toBe("done");
});

test("production does not start with a controller", async () => {
  const env = { CS_FAULT_POINTS: path, NODE_ENV: "production" };
  await expect(startService({ name: "try", env, start: async () => undefined })).rejects.toThrow("CS_FAULT_POINTS");
});

describe("a call through a port", () => {
  it("has points before it, before its commit and after it, named after the operation", async () => {
    const seen = await record();
    const store = openStore();
    expect(
      await asOperation(
        (id: string) => `on ${id}`,
        () => store.write("one"),
      )("event"),
    ).toBe(1);
    expect(points(seen)).toEqual([
      "try/on event begins",
      "try/on event: store.write(one) before",
      "try/on event: store.write(one) before commit",
      "try/on event: store.write(one) after",
      "try/on event ends",
    ]);
  });

  it("has other points when the operation repeats it, and the same ones in the next operation", async () => {
    const seen = await record();
    const store = openStore();
    const twice = asOperation("work", async () => {
      await store.write("one");
      await store.write("one");
    });
    await twice();
    await twice();
    const once = ["before", "before commit", "after"].map((when) => `try/work: store.write(one) ${when}`);
    const again = once.map((point) => point.replace(")", ") again"));
    const all = ["try/work begins", ...once, ...again, "try/work ends"];
    expect(points(seen)).toEqual([...all, ...all]);
  });

  it("has none where the method reads or is synchronous", async () => {
    const seen = await record();
    const store = openStore();
    await store.write("one");
    expect([await store.find(), store.count()]).toEqual([["one"], 1]);
    expect(points(seen).filter((point) => !point.includes("write"))).toEqual([]);
  });

  it("has no point after it where it fails, and neither has its operation", async () => {
    const seen = await record();
    const port = withFaultPoints("port", { send: () => Promise.reject(new Error("refused")) });
    await expect(asOperation("work", () => port.send())()).rejects.toThrow("refused");
    expect(points(seen)).toEqual(["try/work begins", "try/work: port.send before"]);
  });

  it("is background work outside of an operation", async () => {
    const seen = await record();
    await openStore().write("one");
    expect(points(seen)[0]).toBe("try/background: store.write(one) before");
  });
});

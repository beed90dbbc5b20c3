import { spawnSync } from "node:child_process";
import { join } from "node:path";
import type { LogFields, Logger } from "@countersign/core";
import { afterEach, expect, test, vi } from "vitest";
import { createLogger, scrub } from "./log.ts";
import { memoryLogger } from "./testing/memory-logger.ts";

/** Code that ignores the types, such as a library's. */
const careless = (logger: Logger) => logger as unknown as Record<"info" | "error", (...args: unknown[]) => void>;

const jwt = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl";

test("only listed fields are logged; the names of the others are", () => {
  const { logger, lines, text } = memoryLogger();
  careless(logger).info(
    { accountId: "a", authorization: `Bearer ${jwt}`, headers: { cookie: "secret-cookie" } },
    "hello",
  );
  expect(lines()[0]).toMatchObject({
    name: "test",
    level: "info",
    msg: "hello",
    accountId: "a",
    dropped: ["authorization", "headers"],
  });
  expect(text()).not.toMatch(/secret-cookie|eyJ/);
});

test("lines carry their time to the millisecond, in UTC", () => {
  const { logger, lines } = memoryLogger();
  vi.useFakeTimers({ toFake: ["Date"] });
  const times = [
    "2026-11-21T10:00:00.007Z",
    "2026-11-21T10:00:00.999Z",
    "2026-11-21T10:00:01.000Z",
    "2026-11-21T09:59:59.040Z",
  ];
  for (const time of times) {
    vi.setSystemTime(time);
    logger.info("x");
  }
  expect(lines().map((line) => line.time)).toEqual(times);
});
afterEach(() => {
  vi.useRealTimers();
});

test("bindings of children follow the same list", () => {
  const { logger, lines } = memoryLogger();
  logger.child({ requestId: "r", password: "p" } as LogFields).warn("x");
  expect(lines()[0]).toMatchObject({ requestId: "r", dropped: ["password"] });
});

test("errors keep type, message, stack and causes, and lose secrets and all other members", () => {
  const { logger, lines, text } = memoryLogger();
  const cause = new Error(`cannot reach postgres://app:hunter2@db/x for ada@example.org with Bearer ${jwt}`);
  logger.error(
    { err: Object.assign(new Error("outer", { cause }), { request: { token: "inner-secret" }, code: "E1" }) },
    "failed",
  );
  expect(lines()[0]).toMatchObject({ err: { type: "Error", message: "outer", code: "E1", cause: { type: "Error" } } });
  expect(text()).not.toMatch(/hunter2|ada@|eyJ|inner-secret/);
});

test.each([
  ["nats://s3cret@nats:4222", "nats://[password]@nats:4222"],
  ["postgres://app:s3@cret@db/x", "postgres://app:[password]@db/x"],
  ["postgres://app:s3/cret@db/x", "postgres://app:[password]@db/x"],
  ["to ada@пример.рф", "to [e-mail]"],
  ["/find?who=ada%40example.org", "/find?who=[e-mail]"],
  ["users/ada@example.org", "users/[e-mail]"],
])("%s loses its secret", (text, scrubbed) => {
  expect(scrub(text)).toBe(scrubbed);
});

test.each([
  'Raw query failed. Code: `22P02`. Message: `invalid input syntax for type uuid: "a\n\nb"`',
  "PANIC: index out of bounds\n\nThis is a non-recoverable error.\n\nIf you want the Prisma team to look into it",
])("an error of Prisma without a call's arguments stays whole: %j", (message) => {
  const text = `\nInvalid \`prisma.$queryRaw()\` invocation:\n\n\n${message}`;
  expect(scrub(text)).toBe(text);
});

test("the paths of a stack stay whole", () => {
  const frame = "at done (file:///app/node_modules/@grpc/grpc-js/build/src/client.js:193:76)";
  expect(scrub(`for ada@example.org\n    ${frame}`)).toBe(`for [e-mail]\n    ${frame}`);
});

test("a long text is cut before it is searched, and shows no part of a secret at its end", () => {
  const begun = performance.now();
  expect(scrub(`${"a".repeat(60_000)}@`)).toHaveLength(2_000);
  expect(performance.now() - begun).toBeLessThan(500);
  expect(scrub(`${"a ".repeat(995)}ada@example.org`)).not.toContain("ada");
  // A removed token moves what follows it forward.
  const removed = `eyJhbGciOiJF.${"a".repeat(1_000)}`;
  const text = `${removed} ${"a ".repeat(740)}nats://app:hunter2${"a".repeat(60)}@nats`;
  expect(scrub(text)).not.toContain("hunter2");
});

test("errors and texts as the first argument are filtered too", () => {
  const { logger, lines, text } = memoryLogger();
  careless(logger).error(Object.assign(new Error(`mail for ada@example.org`), { token: "inner-secret" }));
  logger.info(`token ${jwt}`);
  careless(logger).info("%s", jwt);
  expect(lines()).toHaveLength(3);
  expect(text()).not.toMatch(/ada@|eyJ|inner-secret/);
});

test("nested objects in listed fields are not logged", () => {
  const { logger, lines } = memoryLogger();
  logger.info({ result: { key: "k" }, sequence: 3n, subject: ["a", { b: 1 }] }, "x");
  expect(lines()[0]).toMatchObject({ result: "[object]", sequence: "3", subject: ["a", "[object]"] });
});

test("a line is written soon after it was logged, also where it met a slow write", () => {
  const program = `
    import fs from "node:fs";
    import { createLogger } from ${JSON.stringify(join(import.meta.dirname, "log.ts"))};
    const write = fs.write;
    fs.write = (...args) => void setTimeout(() => write(...args), 150);
    const logger = createLogger({ name: "test" });
    logger.info("first");
    setTimeout(() => logger.info("during the write"), 120);
    setTimeout(() => process.kill(process.pid, "SIGKILL"), 1_500);`;
  const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" });
  expect(
    stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).msg),
  ).toEqual(["first", "during the write"]);
});

test("an empty level is the default one", () => {
  expect(createLogger({ name: "test", level: "", destination: { write: () => {} } }).isLevelEnabled("info")).toBe(true);
});

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadNetworks } from "@countersign/settings";
import { expect, test } from "vitest";
import { z } from "zod";
import {
  ConfigError,
  dialAddress,
  listenAddress,
  loadEnv,
  readJsonFile,
  readSecretFile,
  watchDatabaseUrl,
} from "./config.ts";
import { createMetrics } from "./metrics.ts";
import { memoryLogger } from "./testing/memory-logger.ts";
import { watchFiles } from "./watched-files.ts";

const schema = z.object({ KEY_LISTEN: listenAddress, KEY_LIMIT: z.coerce.number().int().default(5) });
const dir = mkdtempSync(join(tmpdir(), "countersign-config-"));

function file(name: string, content: string): string {
  const path = join(dir, name);
  writeFileSync(path, content);
  return path;
}

test("reads the schema's variables; an empty one is absent", () => {
  const env = { KEY_LISTEN: "127.0.0.1:0", KEY_LIMIT: "", KEY_ADMIN_LISTEN: "x", PATH: "/bin" };
  expect(loadEnv(schema, env, { prefix: "KEY_" })).toEqual({ KEY_LISTEN: "127.0.0.1:0", KEY_LIMIT: 5 });
});

test("a blank one is absent too, and no 0: a time lock of 0 seconds would be none", () => {
  const env = { KEY_LISTEN: "127.0.0.1:0", KEY_LIMIT: " \n" };
  expect(loadEnv(schema, env, { prefix: "KEY_" })).toEqual({ KEY_LISTEN: "127.0.0.1:0", KEY_LIMIT: 5 });
});

test("names all problems at once and shows no value", () => {
  const read = () => loadEnv(schema, { KEY_LIMIT: "hunter2", KEY_LIMTI: "1" }, { prefix: "KEY_" });
  expect(read).toThrow(ConfigError);
  expect(read).toThrow(/KEY_LIMTI: no such setting[\s\S]*KEY_LISTEN: is missing[\s\S]*KEY_LIMIT: /);
  expect(read).not.toThrow(/hunter2/);
});

test("secrets come from files without their line end", () => {
  expect(readSecretFile(file("secret", "s3cret\n"))).toBe("s3cret");
  expect(() => readSecretFile(file("empty", "\n"))).toThrow("is empty");
  expect(() => readSecretFile(join(dir, "absent"))).toThrow("ENOENT");
});

test("each problem of a JSON file has the place where it has one, and no value", () => {
  const settings = z.strictObject({ limit: z.number(), inner: z.strictObject({ port: z.number() }) });
  const path = file("settings.json", '{"limit": "hunter2", "inner": {"port": "s3cret"}, "limti": 1}');
  const problems = [
    `${path}: limit: Invalid input: expected number, received string`,
    `${path}: inner.port: Invalid input: expected number, received string`,
    `${path}: Unrecognized key: "limti"`,
  ];
  expect(() => readJsonFile(path, settings)).toThrow(new ConfigError(problems));
});

test("a database's address may come from a file", () => {
  const database = z.object({ KEY_DATABASE_URL: z.string() });
  const env = { KEY_DATABASE_URL_FILE: file("url", "postgresql://key:s3cret@postgres/key\n") };
  const read = (more: Record<string, string>) => loadEnv(database, { ...env, ...more }, { prefix: "KEY_" });
  expect(read({})).toEqual({ KEY_DATABASE_URL: "postgresql://key:s3cret@postgres/key" });
  expect(() => read({ KEY_DATABASE_URL: "postgresql://" })).toThrow("given twice");
  expect(() => read({ KEY_DATABASE_URL_FILE: join(dir, "absent") })).toThrow("ENOENT");
  expect(() => read({ KEY_LIMIT_FILE: "x" })).toThrow("KEY_LIMIT_FILE: no such setting");
});

test("networks are checked", () => {
  const network = {
    chainName: "flow-emulator",
    chainType: "flow",
    network: "emulator",
    evmChainId: 646,
    accessNode: "http://127.0.0.1:8888/",
    evmContract: "f8d6e0586b0a20c7",
    creator: { address: "f8d6e0586b0a20c7", keyCount: 8 },
    paymaster: { address: "f8d6e0586b0a20c7", keyId: 0 },
    explorerTransactionUrl: "http://127.0.0.1:8888/v1/transaction_results/{id}",
  };
  const load = (networks: unknown[]) => loadNetworks(file("networks.json", JSON.stringify({ networks })));
  expect(load([network]).get("flow-emulator")?.accessNode).toBe("http://127.0.0.1:8888");
  expect(() => load([network, network])).toThrow("unique");
  expect(() => load([{ ...network, evmContract: "0xf8d6e0586b0a20c7" }])).toThrow("16 lower-case hex digits");
  expect(() => load([])).toThrow(ConfigError);
  const setUp = { factory: "01cf0e2f2f715450", filter: "179b6b1cb6755e31", viewResolver: "f8d6e0586b0a20c7" };
  const linked = { ...network, hybridCustody: "f8d6e0586b0a20c7", hybridCustodySetUp: setUp };
  expect(load([linked]).get("flow-emulator")?.hybridCustodySetUp).toEqual(setUp);
  expect(() => load([{ ...network, hybridCustodySetUp: setUp }])).toThrow("needs hybridCustody");
  const { filter: _, ...noFilter } = setUp;
  expect(() => load([{ ...linked, hybridCustodySetUp: noFilter }])).toThrow("filter");
  const prefixed = { ...setUp, factory: `0x${setUp.factory}` };
  expect(() => load([{ ...linked, hybridCustodySetUp: prefixed }])).toThrow("16 lower-case hex digits");
});

test.each(["auth:5001", "127.0.0.1:5001", "127.0.0.1:5001,127.0.0.1:5002", "10.0.0.1:1,10.0.0.2:1,10.0.0.3:1"])(
  "%s can be dialled",
  (address) => expect(dialAddress.parse(address)).toBe(address),
);

test.each(["auth", "auth:5001,auth:5002", "127.0.0.1:5001,", "127.0.0.1:5001, 127.0.0.1:5002"])(
  "%s cannot be dialled",
  (address) => expect(dialAddress.safeParse(address).success).toBe(false),
);

test("a changed connection string may have another user and password, and no other database or option", async () => {
  const at = (user: string, place: string) => `postgresql://${user}@${place}`;
  const place = "postgres:5432/key?sslmode=verify-full&sslrootcert=/a.crt";
  const path = file("database-url", at("key:one", place));
  const files = watchFiles({ logger: memoryLogger().logger, metrics: createMetrics("test", { defaults: false }) });
  const url = watchDatabaseUrl("KEY_DATABASE_URL", { KEY_DATABASE_URL_FILE: path }, files);
  const after = (content: string) => {
    writeFileSync(path, content);
    url.refresh();
    return url.current();
  };
  const changed = at("key_b:two", place.replace("/a.crt", "/b.crt"));
  expect(after(changed)).toBe(changed);
  for (const other of [
    at("key:one", place.replace("postgres:", "elsewhere:")),
    at("key:one", place.replace("5432", "5433")),
    at("key:one", place.replace("/key", "/other")),
    at("key:one", place.replace("verify-full", "disable")),
    at("key:one", `${place}&host=elsewhere`),
    at("key:one", "postgres:5432/key"),
    "no url",
  ])
    expect(after(other), other).toBe(changed);
  await files.close();
});

test("a connection string may name a socket instead of a host, also with a user", async () => {
  const url = "postgresql://key:secret@/key?host=/var/run/postgresql";
  const files = watchFiles({ logger: memoryLogger().logger, metrics: createMetrics("test", { defaults: false }) });
  const path = file("database-url", url);
  for (const env of [{ KEY_DATABASE_URL: url }, { KEY_DATABASE_URL_FILE: path }])
    expect(watchDatabaseUrl("KEY_DATABASE_URL", env, files).current()).toBe(url);
  await files.close();
});

test.each(["localhost/key", "postgresql://key:hunter2#@host/key"])(
  "a connection string that is no URL is named at the start, not searched in DNS: %s",
  async (KEY_DATABASE_URL) => {
    const files = watchFiles({ logger: memoryLogger().logger, metrics: createMetrics("test", { defaults: false }) });
    const read = () => watchDatabaseUrl("KEY_DATABASE_URL", { KEY_DATABASE_URL }, files);
    expect(read).toThrow(new ConfigError(["KEY_DATABASE_URL: is not a postgresql:// URL"]));
    await files.close();
  },
);

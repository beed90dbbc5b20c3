import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test, vi } from "vitest";
import { startService } from "./process.ts";
import { memoryLogger } from "./testing/memory-logger.ts";

const env = { TRY_ADMIN_LISTEN: "127.0.0.1:0", CS_DRAIN_MS: "100" };

test("a dependency that is away delays the start, and changes neither readiness nor liveness afterwards", async () => {
  let works = true;
  const service = await startService({
    name: "try",
    env,
    logger: memoryLogger().logger,
    start: async (process) => {
      process.dependency("database", () => works);
      process.dependency("bus", async () => true);
    },
  });
  const get = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${service.adminPort}${path}`);
    return { status: response.status, text: await response.text() };
  };
  expect((await get("/livez")).status).toBe(200);
  expect(await get("/startupz")).toMatchObject({ status: 200, text: expect.stringContaining('"database":true') });
  works = false;
  expect(await get("/startupz")).toMatchObject({ status: 503, text: expect.stringContaining('"database":false') });
  expect((await get("/readyz")).status).toBe(200);
  expect((await get("/livez")).status).toBe(200);
  expect((await get("/metrics")).text).toContain("countersign_rpc_server_seconds");
  expect((await get("/other")).status).toBe(404);
  await service.stop();
});

async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test("is unready while it starts and from the moment that it stops", async () => {
  const started = Promise.withResolvers<void>();
  const adminPort = await freePort();
  const starting = startService({
    name: "try",
    env: { TRY_ADMIN_LISTEN: `127.0.0.1:${adminPort}`, CS_DRAIN_MS: "1000" },
    logger: memoryLogger().logger,
    start: () => started.promise,
  });
  const ready = async () => (await fetch(`http://127.0.0.1:${adminPort}/readyz`)).status;
  expect(await vi.waitFor(ready)).toBe(503);
  started.resolve();
  const service = await starting;
  expect(await ready()).toBe(200);
  const stopping = service.stop();
  expect(await ready()).toBe(503);
  await stopping;
});

test("closes the newest first, all of them, and once", async () => {
  const closed: string[] = [];
  const service = await startService({
    name: "try",
    env: { CS_DRAIN_MS: "0" },
    logger: memoryLogger().logger,
    start: async (process) => {
      process.onClose("database", () => closed.push("database"));
      process.onClose("broken", () => {
        throw new Error("no");
      });
      process.onClose("rpc", () => closed.push("rpc"));
    },
  });
  expect(await Promise.all([service.stop(), service.stop()])).toEqual([true, true]);
  expect(closed).toEqual(["rpc", "database"]);
});

test("a failed start closes everything that it had opened", async () => {
  const closed: string[] = [];
  const starting = startService({
    name: "try",
    env: {},
    logger: memoryLogger().logger,
    start: async (process) => {
      process.onClose("database", () => closed.push("database"));
      throw new Error("wrong settings");
    },
  });
  await expect(starting).rejects.toThrow("wrong settings");
  expect(closed).toEqual(["database"]);
});

// A test that times out leaves no process behind.
const children = new Set<ChildProcess>();
afterEach(() => {
  for (const child of children) child.kill("SIGKILL");
  children.clear();
});

/** Runs a service whose `start` is this code; sends it the signal, if any, when it is ready. */
async function run(
  body: string,
  sent?: NodeJS.Signals,
  env: NodeJS.ProcessEnv = {},
): Promise<{ code: number | null; output: string }> {
  const module = fileURLToPath(new URL("./process.ts", import.meta.url));
  const program = `import { runService } from ${JSON.stringify(module)}; await runService({ name: "try", start: async (service) => { ${body} } });`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    env: { ...process.env, CS_DRAIN_MS: "50", ...env },
  });
  children.add(child);
  let output = "";
  let signal = sent;
  child.stdout.on("data", (chunk) => {
    output += chunk;
    if (signal === undefined || !output.includes('"ready"')) return;
    child.kill(signal);
    signal = undefined;
  });
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output };
}

test("SIGTERM ends the process cleanly, an uncaught error ends it with 1", async () => {
  const keep = "const timer = setInterval(() => {}, 1000); service.onClose('timer', () => clearInterval(timer));";
  expect(await run(keep, "SIGTERM")).toMatchObject({ code: 0 });
  const failed = await run(
    "setTimeout(() => { Promise.reject(new Error('nobody caught this')); }, 20); setInterval(() => {}, 1000);",
  );
  expect(failed.code).toBe(1);
  expect(failed.output).toContain("nobody caught this");
  expect(await run("throw new Error('wrong settings');")).toMatchObject({
    code: 1,
    output: expect.stringContaining("wrong settings"),
  });
}, 20_000);

test("an unknown level of the log is a wrong setting like any other", async () => {
  const { code, output } = await run("", undefined, { CS_LOG_LEVEL: "verbose" });
  expect(code).toBe(1);
  expect(JSON.parse(output)).toMatchObject({
    level: "fatal",
    err: {
      message: "wrong settings:\n  CS_LOG_LEVEL: must be one of trace, debug, info, warn, error, fatal, silent",
    },
  });
});

test("a failed start logs the reason, even if something that was begun does not end", async () => {
  const starting = startService({
    name: "try",
    env: { CS_DRAIN_MS: "50" },
    logger: memoryLogger().logger,
    start: async (process) => {
      process.onClose("stuck", () => new Promise(() => undefined));
      throw new Error("the port is busy");
    },
  });
  await expect(starting).rejects.toThrow("the port is busy");
});

import { generateKeyPairSync } from "node:crypto";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Child, type StartChild, startChild } from "./child.ts";
import { readTrimmed, writePrivate } from "./secrets.ts";
import { stateFiles } from "./service-environment.ts";
import type { Ports } from "./settings.ts";
import { waitFor } from "./wait.ts";

/** The emulator's service account, the funder of everybody else. */
export const serviceAddress = "f8d6e0586b0a20c7";

/** Returns the service account's private key (P-256 scalar, 64 hex characters), made at the first start. */
export function ensureServiceKey(stateDir: string): string {
  const path = stateFiles(stateDir).flowServiceKey;
  if (!existsSync(path)) {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const { d } = privateKey.export({ format: "jwk" });
    writePrivate(path, Buffer.from(d as string, "base64url").toString("hex"));
  }
  return readTrimmed(path);
}

type FlowPorts = Pick<Ports, "flowRest" | "flowGrpc" | "flowAdmin" | "flowDebugger">;

/** Returns the emulator's arguments: state below `dir`, fees as on the real network. */
export function emulatorArguments(options: {
  host: string;
  ports: FlowPorts;
  dir: string;
  serviceKey: string;
}): string[] {
  const { host, ports, dir, serviceKey } = options;
  const settings: Record<string, string | number> = {
    host,
    port: ports.flowGrpc,
    "rest-port": ports.flowRest,
    "admin-port": ports.flowAdmin,
    "debugger-port": ports.flowDebugger,
    "transaction-expiry": 600,
    dbpath: join(dir, "db"),
    "service-priv-key": serviceKey,
  };
  const flags = Object.entries(settings).map(([flag, value]) => `--${flag}=${value}`);
  return ["--transaction-fees", "--snapshot", "--persist", ...flags];
}

/** Starts the emulator with its state on disk and waits until it serves blocks. */
export async function startEmulator(options: {
  binary: string;
  stateDir: string;
  ports: FlowPorts;
  logFile: string;
  start?: StartChild;
}): Promise<Child> {
  const { ports, stateDir } = options;
  const dir = join(stateDir, "flow");
  mkdirSync(dir, { recursive: true });
  const child = await (options.start ?? startChild)({
    name: "flow-emulator",
    command: options.binary,
    args: emulatorArguments({ host: "127.0.0.1", ports, dir, serviceKey: ensureServiceKey(stateDir) }),
    cwd: dir,
    logFile: options.logFile,
    stopSignal: "SIGINT",
  });
  await waitFor(child, `http://127.0.0.1:${ports.flowRest}/v1/blocks?height=sealed`);
  return child;
}

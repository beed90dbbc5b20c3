import { cpSync, writeFileSync } from "node:fs";
import { connect as connectTcp } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Failure } from "@countersign/build/fail.ts";
import { root } from "@countersign/build/paths.ts";
import { natsAccountsFile } from "@countersign/events/nats-accounts.ts";
import { setUpNats } from "@countersign/events/set-up.ts";
import { readTls, tlsFiles } from "./certificates.ts";
import { type Child, logTail, type StartChild, startChild } from "./child.ts";

/** Returns whether the server greets: it speaks first. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connectTcp({ port, host: "127.0.0.1" });
    const done = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("data", () => done(true));
    socket.once("error", () => done(false));
    socket.setTimeout(1000, () => done(false));
  });
}

export interface NatsServerOptions {
  binary: string;
  /** Where the certificates are, and the stream is kept. */
  stateDir: string;
  port: number;
  logFile: string;
  /** Default "nats". */
  name?: string;
  /** A file of deploy/nats; default "server.conf". */
  config?: string;
  /** Settings (deploy/nats/README.md) that replace or add to those of a server by itself. */
  settings?: Record<string, string>;
  /** Of the events. Default 1. */
  partitions?: number;
  start?: StartChild;
}

/** Returns the folder of a server's configuration: deploy/nats, or a copy with accounts for partitions. */
function configFolder(stateDir: string, name: string, partitions: number): string {
  const original = join(root, "deploy/nats");
  if (partitions === 1) return original;
  const copy = join(stateDir, `${name}-config`);
  cpSync(original, copy, { recursive: true });
  writeFileSync(join(copy, "accounts.conf"), natsAccountsFile("the local stack", partitions));
  return copy;
}

/** Starts nats-server and waits until it greets. */
export async function startNatsServer(options: NatsServerOptions): Promise<Child> {
  const { stateDir, port, logFile, name = "nats", config = "server.conf", partitions = 1 } = options;
  const tls = tlsFiles(stateDir, "nats");
  const settings = {
    NATS_LISTEN: `127.0.0.1:${port}`,
    NATS_MONITOR: "127.0.0.1:-1",
    NATS_SERVER_NAME: name,
    NATS_STORE_DIR: join(stateDir, name),
    NATS_MAX_FILE: "1GB",
    NATS_TLS_CA_FILE: tls.ca,
    NATS_TLS_CERT_FILE: tls.cert,
    NATS_TLS_KEY_FILE: tls.key,
    ...options.settings,
  };
  const child = await (options.start ?? startChild)({
    name,
    command: options.binary,
    args: ["-c", join(configFolder(stateDir, name, partitions), config)],
    env: { ...process.env, ...settings },
    logFile,
  });
  while (!(await answers(port))) {
    if (!child.running()) throw new Failure(`nats-server ended while it started:\n${logTail(logFile)}`);
    await sleep(50);
  }
  return child;
}

/** Starts a nats-server by itself and sets it up. */
export async function startNats(options: NatsServerOptions): Promise<Child> {
  const { port, stateDir, partitions = 1 } = options;
  const child = await startNatsServer(options);
  await setUpNats(`tls://127.0.0.1:${port}`, readTls(tlsFiles(stateDir, "operator")), { partitions });
  return child;
}

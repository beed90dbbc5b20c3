import { mkdirSync, writeFileSync } from "node:fs";
import { connect as connectTcp } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Failure } from "@countersign/build/fail.ts";
import { natsConfig } from "@countersign/events/nats-config.ts";
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

/** Starts nats-server, waits until it greets, and sets it up. */
export async function startNats(options: {
  binary: string;
  stateDir: string;
  port: number;
  logFile: string;
  start?: StartChild;
}): Promise<Child> {
  mkdirSync(options.stateDir, { recursive: true });
  const config = join(options.stateDir, "nats.conf");
  const { stateDir, port } = options;
  const tls = tlsFiles(stateDir, "nats");
  const places = { listen: `127.0.0.1:${port}`, tls, storeDir: join(stateDir, "nats") };
  writeFileSync(config, natsConfig(places), { mode: 0o600 });
  const child = await (options.start ?? startChild)({
    name: "nats",
    command: options.binary,
    args: ["-c", config],
    logFile: options.logFile,
  });
  while (!(await answers(options.port))) {
    if (!child.running()) throw new Failure(`nats-server ended while it started:\n${logTail(options.logFile)}`);
    await sleep(50);
  }
  await setUpNats(`tls://127.0.0.1:${options.port}`, readTls(tlsFiles(stateDir, "operator")));
  return child;
}

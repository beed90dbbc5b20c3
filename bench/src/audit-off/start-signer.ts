import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePorts } from "@countersign/local-stack/ports.ts";
import type { Stack } from "@countersign/local-stack/stack-file.ts";
import { NODE_FLAGS } from "@countersign/runtime/node-flags.ts";

const root = join(import.meta.dirname, "../../..");

/** The part of a batch that is committed: its counts and reservations, or nothing. */
export type Stored = "charges" | "nothing";

/**
 * Starts a second signer on the stack's database and keys that keeps no records, with the settings of the
 * first one and its own ports.
 */
export async function startSignerWithoutAudit(
  stack: Stack,
  stored: Stored,
): Promise<{ address: string; pid: number; stop(): void }> {
  const [port, adminPort] = await freePorts(2);
  const environment = readFileSync(`/proc/${stack.processes.signer!.pid}/environ`, "utf8").split("\0").filter(Boolean);
  const inherited = Object.fromEntries(
    environment.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  );
  const env: NodeJS.ProcessEnv = {
    ...inherited,
    SIGNER_LISTEN: `127.0.0.1:${port}`,
    SIGNER_ADMIN_LISTEN: `127.0.0.1:${adminPort}`,
    SIGNER_AUDIT_CHECKPOINT_MS: "60000",
    CS_LOG_LEVEL: "fatal",
    BENCH_STORE: stored,
  };
  delete env.SIGNER_AUDIT_CHECKPOINT_FILE;
  const args = [...NODE_FLAGS.signer, join(import.meta.dirname, "signer.ts")];
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ["ignore", "ignore", "inherit"] });
  process.once("exit", () => child.kill());
  for (;;) {
    const ready = await fetch(`http://127.0.0.1:${adminPort}/startupz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (ready) return { address: `127.0.0.1:${port}`, pid: child.pid!, stop: () => void child.kill() };
    if (child.exitCode !== null) throw new Error("the signer without records did not start");
    await sleep(100);
  }
}

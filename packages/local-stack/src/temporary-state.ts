import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresDir } from "@countersign/build/paths.ts";
import { killChildren } from "./child.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Runs `work` with a state directory of its own in the system's temporary directory, and removes it with its
 * databases. `work` stops what it starts; on Ctrl-C all children are killed.
 */
export async function inTemporaryState<T>(name: string, work: (stateDir: string) => Promise<T>): Promise<T> {
  const stateDir = mkdtempSync(join(tmpdir(), `countersign-${name}-`));
  const remove = () => {
    for (const path of [stateDir, postgresDir(stateDir)]) rmSync(path, { recursive: true, force: true });
  };
  const abandon = () => {
    // The work loses its databases.
    process.on("uncaughtException", () => undefined);
    void killChildren().then(() => {
      remove();
      process.exit(130);
    });
  };
  for (const signal of SIGNALS) process.once(signal, abandon);
  try {
    return await work(stateDir);
  } finally {
    for (const signal of SIGNALS) process.off(signal, abandon);
    remove();
  }
}

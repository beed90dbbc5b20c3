import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { Failure } from "@countersign/build/fail.ts";
import { root } from "@countersign/build/paths.ts";
import { adminEnvironment } from "@countersign/local-stack/admin-environment.ts";
import { runningStack } from "./demo.ts";

/** `npm run countersign`: runs the administrator's command against the running stack. */
export async function countersign(args: readonly string[]): Promise<number> {
  const person = process.env.CS_ADMIN_PERSON ?? "ada";
  const settings = adminEnvironment(runningStack(), person);
  if (!settings) throw new Failure(`CS_ADMIN_PERSON: ${person} has no certificate here: ada and grace have one.`);
  // Paths in the arguments are those of the caller.
  const env = { ...process.env, ...settings };
  const command = [join(root, "admin/src/cli.ts"), ...args];
  return spawnSync(process.execPath, command, { stdio: "inherit", env }).status ?? 1;
}

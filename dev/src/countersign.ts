import { spawn } from "node:child_process";
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
  const options = { stdio: "inherit", env: { ...process.env, ...settings } } as const;
  const child = spawn(process.execPath, [join(root, "admin/src/cli.ts"), ...args], options);
  return new Promise((resolve) => child.on("exit", (code) => resolve(code ?? 1)));
}

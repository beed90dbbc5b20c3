import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { NODE_FLAGS } from "@countersign/runtime/node-flags.ts";
import { type EnvironmentInput, type ProgramName, processName, serviceEnvironment } from "./service-environment.ts";
import { type Supervisor, TIERS } from "./supervisor.ts";
import { waitFor } from "./wait.ts";

/** Returns the file that a process of this name runs, in a checkout. */
export function entryPoint(name: ProgramName, checkout: string): string {
  return name === "gateway" ? join(checkout, "gateway/src/main.ts") : join(checkout, "services", name, "src/main.ts");
}

/** Returns the environment of a process as its own version sets it up: it knows its own settings only. */
async function environmentOf(name: ProgramName, replica: number, input: EnvironmentInput, checkout: string) {
  if (checkout === root) return serviceEnvironment(name, replica, input);
  const itsOwn = await import(join(checkout, "packages/local-stack/src/service-environment.ts"));
  return (itsOwn.serviceEnvironment as typeof serviceEnvironment)(name, replica, input);
}

/** Returns the command of a process. The signer's leaves no core dump, which would contain its keys. */
function commandOf(name: ProgramName, checkout: string): { command: string; args: string[] } {
  const args = [...NODE_FLAGS[name], entryPoint(name, checkout)];
  if (name !== "signer") return { command: process.execPath, args };
  return { command: "/bin/sh", args: ["-c", 'ulimit -c 0; exec "$0" "$@"', process.execPath, ...args] };
}

/** Starts a process of a service or of the gateway, and returns it when it has started up. */
export async function startService(
  name: ProgramName,
  replica: number,
  input: EnvironmentInput,
  supervisor: Supervisor,
  checkout = root,
) {
  const child = await supervisor.starter(TIERS[name === "gateway" ? "gateway" : "service"])({
    name: processName(name, replica),
    ...commandOf(name, checkout),
    cwd: checkout,
    env: await environmentOf(name, replica, input, checkout),
    logFile: join(input.stateDir, "log", `${processName(name, replica)}.log`),
  });
  await waitFor(child, `http://127.0.0.1:${input.replicas[replica]?.[`${name}Admin`]}/startupz`);
  return child;
}

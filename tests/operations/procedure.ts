import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root, services } from "@countersign/build/paths.ts";
import { adminEnvironment } from "@countersign/local-stack/admin-environment.ts";
import { tlsFiles } from "@countersign/local-stack/certificates.ts";
import type { RunningStack } from "@countersign/local-stack/stack.ts";

/** Returns the shell commands of a page's section, one text for each block. */
export function commandsOf(page: string, section: string): string[] {
  const text = readFileSync(join(root, page), "utf8");
  const [, from = ""] = text.split(`\n## ${section}\n`);
  const [inSection = ""] = from.split("\n## ");
  return [...inSection.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block]) => block!);
}

const quote = (value: string) => `'${value.replaceAll("'", `'\\''`)}'`;

/** Makes programs named auth, signer, … that run a service's commands with its settings. */
export async function makePrograms(running: RunningStack, stateDir: string, directory: string): Promise<void> {
  mkdirSync(directory, { recursive: true });
  const make = (name: string, env: NodeJS.ProcessEnv, entry: string) => {
    const settings = Object.entries(env).map(([key, value]) => `${key}=${quote(value ?? "")}`);
    const program = `#!/bin/sh\nexec env -i ${settings.join(" ")} ${quote(process.execPath)} ${quote(entry)} "$@"\n`;
    writeFileSync(join(directory, name), program, { mode: 0o700 });
    chmodSync(join(directory, name), 0o700);
  };
  for (const service of services) {
    make(service, await running.environmentOf(service), join(root, "services", service, "src/cli.ts"));
  }
  const admin = { PATH: process.env.PATH, ...adminEnvironment(running.stack, "ada") };
  make("countersign", admin, join(root, "admin/src/cli.ts"));
  const { ca, cert, key } = tlsFiles(stateDir, "operator");
  const operator = { CS_NATS_URL: running.stack.nats.replace("nats://", "tls://"), CS_TLS_CA: ca, CS_TLS_CERT: cert };
  const natsEnvironment = { PATH: process.env.PATH, ...operator, CS_TLS_KEY: key };
  make("export-events", natsEnvironment, join(root, "packages/runtime/src/export-events.ts"));
}

/** Runs commands in a directory with these programs. Returns the exit code and all that was printed. */
export async function runShell(
  commands: string,
  { cwd, programs, env }: { cwd: string; programs: string; env: Record<string, string> },
): Promise<{ code: number; output: string }> {
  const child = spawn("/bin/sh", ["-e", "-u", "-c", commands], {
    cwd,
    env: { PATH: `${programs}:${process.env.PATH}`, ...env },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (part: Buffer) => (output += part));
  const code = await new Promise<number>((resolve) => child.on("close", (ended) => resolve(ended ?? 1)));
  return { code, output };
}

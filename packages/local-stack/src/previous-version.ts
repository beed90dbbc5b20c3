import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { newestRelease } from "@countersign/build/releases.ts";
import { run } from "@countersign/build/run.ts";

/**
 * Returns the commit of the version before this one: CS_PREVIOUS, else the newest release tag behind HEAD,
 * else the commit before.
 */
export async function previousCommit(): Promise<string> {
  const wanted = process.env.CS_PREVIOUS ?? (await newestRelease("HEAD~1")) ?? "HEAD~1";
  return (await run("git", ["rev-parse", "--verify", `${wanted}^{commit}`])).trim();
}

export async function exportCommit(commit: string, directory: string): Promise<void> {
  mkdirSync(directory, { recursive: true });
  const archive = join(directory, "commit.tar");
  // With the rights of files in a checkout: equal files are equal layers of an image.
  await run("git", ["-c", "tar.umask=0022", "archive", "--output", archive, commit]);
  await run("tar", ["--extract", "--file", archive, "--directory", directory]);
  rmSync(archive);
}

/**
 * Makes a checkout of a commit whose programs can be started: dependencies, generated code and parser. Takes
 * a minute or two for a commit; afterwards it is kept in .local/previous. Returns its root.
 */
export async function ensureCheckout(commit: string, say: (line: string) => void): Promise<string> {
  const checkout = join(root, ".local", "previous", commit);
  if (existsSync(checkout)) return checkout;
  say(`preparing the version before, ${commit.slice(0, 8)}: a minute or two`);
  const unfinished = `${checkout}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  await exportCommit(commit, unfinished);
  const inside = (command: string, args: string[]) => run(command, args, { cwd: unfinished });
  await inside(process.execPath, ["dev/bootstrap.mjs", "generate"]);
  const parser = 'await (await import("@countersign/build/cadence-parser.ts")).ensureCadenceParser(console.log)';
  await inside(join(unfinished, "node_modules/node/bin/node"), ["--input-type=module", "--eval", parser]);
  renameSync(unfinished, checkout);
  return checkout;
}

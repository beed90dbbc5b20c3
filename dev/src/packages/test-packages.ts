import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { run } from "@countersign/build/run.ts";
import { runVitest } from "../test.ts";

const folder = join(root, "tests/packages");

/** `npm run test:packages`: installs the tools of app developers and tests the packed packages with them. */
export async function testPackages(args: readonly string[]): Promise<number> {
  if (!toolsInstalled()) {
    console.log("installing the tools of tests/packages (npm ci), about half a minute the first time …");
    await run("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], { cwd: folder });
  }
  return runVitest(["--project=packages", ...args]);
}

/** Whether tests/packages/node_modules has what its package-lock.json says. */
function toolsInstalled(): boolean {
  const record = join(folder, "node_modules/.package-lock.json");
  if (!existsSync(record)) return false;
  const read = (path: string) => JSON.parse(readFileSync(path, "utf8")).packages as Record<string, Locked>;
  const found = read(record);
  return Object.entries(read(join(folder, "package-lock.json"))).every(
    ([path, { version, optional }]) => path === "" || optional || found[path]?.version === version,
  );
}

interface Locked {
  readonly version?: string;
  readonly optional?: boolean;
}

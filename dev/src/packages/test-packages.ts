import { existsSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { run } from "@countersign/build/run.ts";
import { runVitest } from "../test.ts";

/** The tools of web and Node, and Expo with React Native. */
const FOLDERS = ["tests/packages", "tests/packages/expo"].map((path) => join(root, path));

/** `npm run test:packages`: installs the tools of app developers and tests the packed packages with them. */
export async function testPackages(args: readonly string[]): Promise<number> {
  for (const folder of FOLDERS.filter((each) => !toolsInstalled(each))) {
    console.log(`installing ${relative(root, folder)} (npm ci), about half a minute the first time …`);
    await run("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], { cwd: folder });
  }
  return runVitest(["--project=packages", ...args]);
}

/** Whether a folder's node_modules has what its package-lock.json says. */
function toolsInstalled(folder: string): boolean {
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

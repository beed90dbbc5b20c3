import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { newestRelease } from "@countersign/build/releases.ts";
import { run } from "@countersign/build/run.ts";

/**
 * Compares the gRPC contracts with those of the newest release that this commit contains (`buf breaking`).
 * Returns what it compared with; without a release it compares nothing.
 */
export async function checkBreakingChanges(): Promise<string> {
  const release = await newestRelease("HEAD");
  if (!release) return "no release yet, nothing compared";
  const repository = (await run("git", ["rev-parse", "--path-format=absolute", "--git-common-dir"])).trim();
  const buf = join(root, "node_modules/.bin/buf");
  await run(buf, ["breaking", "--against", `${repository}#tag=${release},subdir=proto`], { cwd: join(root, "proto") });
  return `compared with ${release}`;
}

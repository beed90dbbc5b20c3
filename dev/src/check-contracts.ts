import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { run } from "@countersign/build/run.ts";

/** Returns the newest release among git tags, such as `v1.10.0`; pre-releases and other tags do not count. */
export function lastRelease(tags: string[]): string | undefined {
  const numbers = (tag: string) => tag.slice(1).split(".").map(Number);
  return tags
    .filter((tag) => /^v\d+\.\d+\.\d+$/.test(tag))
    .sort((a, b) => {
      const [left, right] = [numbers(a), numbers(b)];
      const place = left.findIndex((number, index) => number !== right[index]);
      return place === -1 ? 0 : left[place]! - right[place]!;
    })
    .at(-1);
}

/**
 * Compares the gRPC contracts with those of the last release (`buf breaking`), which is the newest tag
 * `vX.Y.Z` that this commit contains. Returns what it compared with; without a release it compares nothing.
 */
export async function checkBreakingChanges(): Promise<string> {
  const tags = await run("git", ["tag", "--list", "v*", "--merged", "HEAD"]);
  const release = lastRelease(tags.split("\n"));
  if (!release) return "no release yet, nothing compared";
  const repository = (await run("git", ["rev-parse", "--path-format=absolute", "--git-common-dir"])).trim();
  const buf = join(root, "node_modules/.bin/buf");
  await run(buf, ["breaking", "--against", `${repository}#tag=${release},subdir=proto`], { cwd: join(root, "proto") });
  return `compared with ${release}`;
}

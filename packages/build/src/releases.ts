import { run } from "./run.ts";

/** Returns the newest release among git tags, such as `v1.10.0`; pre-releases and other tags do not count. */
export const newestOf = (tags: readonly string[]): string | undefined =>
  tags
    .filter((tag) => /^v\d+\.\d+\.\d+$/.test(tag))
    .sort((a, b) => a.localeCompare(b, "en", { numeric: true }))
    .at(-1);

/** Returns the newest release tag `vX.Y.Z` that a commit contains. */
export async function newestRelease(commit: string): Promise<string | undefined> {
  return newestOf((await run("git", ["tag", "--list", "v*", "--merged", commit])).split("\n"));
}

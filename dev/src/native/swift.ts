import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "@countersign/build/fail.ts";
import { cacheDir } from "@countersign/build/paths.ts";
import { debianMirror, unpackDebianPackages } from "@countersign/local-stack/debian-packages.ts";

const SUITE = "trixie";
const PACKAGES = ["swiftlang", "libssl-dev", "libstdc++-14-dev", "libc6-dev"];

/**
 * Returns a program that runs as `swift` of version 6: the one on the path, else Debian's, in a root of its
 * own with Debian's libraries. The second needs Debian and root; it is 550 MB, fetched once per machine.
 */
export async function ensureSwift(): Promise<string> {
  const found = spawnSync("swift", ["--version"], { encoding: "utf8" });
  if (found.status === 0 && /Swift version (?:[6-9]|\d\d)\./.test(found.stdout + found.stderr)) return "swift";
  const folder = join(cacheDir(), `swift-${SUITE}`);
  const program = join(folder, "swift");
  if (existsSync(program)) return program;
  const mirror = debianMirror();
  if (process.getuid?.() !== 0 || mirror === undefined) {
    throw new Failure("Swift 6 is missing: install it from swift.org. Only root on Debian installs Debian's.");
  }
  console.log("fetching Swift from Debian, 550 MB, once …");
  const state = `${folder}.new`;
  rmSync(state, { recursive: true, force: true });
  const system = join(state, "root");
  await unpackDebianPackages(PACKAGES, { mirror, suite: SUITE, folder: system, withDependencies: true });
  for (const each of ["bin", "sbin", "lib", "lib64"]) symlinkSync(`usr/${each}`, join(system, each));
  for (const each of ["proc", "dev", "tmp"]) mkdirSync(join(system, each), { recursive: true });
  writeFileSync(join(system, "etc/hosts"), "127.0.0.1 localhost\n");
  writeFileSync(join(state, "swift"), programOf(join(folder, "root")));
  chmodSync(join(state, "swift"), 0o755);
  renameSync(state, folder);
  execFileSync(program, ["--version"]);
  return program;
}

/** The program sees its working folder at its own path, and its mounts are its own. */
const programOf = (system: string): string => `#!/bin/sh
system='${system}'
mkdir -p "$system$PWD"
export system
exec unshare -m sh -c '
  mount --bind "$PWD" "$system$PWD" && mount --rbind /dev "$system/dev" && mount -t proc proc "$system/proc" &&
  export PATH="$PATH:/usr/sbin" HOME=/tmp && exec chroot "$system" /usr/libexec/swift/bin/swift "$@"' sh "$@"
`;

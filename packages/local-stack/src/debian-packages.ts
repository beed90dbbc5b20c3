import { spawnSync } from "node:child_process";
import { globSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "@countersign/build/run.ts";

/** Returns the prefix that runs a command as root without a password; undefined where there is none. */
function rootPrefix(): string[] | undefined {
  if (process.getuid?.() === 0) return [];
  return spawnSync("sudo", ["-n", "true"], { stdio: "ignore", timeout: 5000 }).status === 0
    ? ["sudo", "-n"]
    : undefined;
}

/**
 * Installs Debian's (or Ubuntu's) packages where this process may. Returns what kept it from doing so, or ""
 * after success.
 */
export async function installDebianPackages(packages: string[], say: (line: string) => void): Promise<string> {
  const asRoot = rootPrefix();
  const hasAptGet = spawnSync("apt-get", ["--version"], { stdio: "ignore" }).status === 0;
  if (!hasAptGet || !asRoot) return "apt-get needs root or a sudo without a password";
  say(`installing ${packages.join(", ")} with apt-get, once …`);
  const [command = "", ...prefix] = [...asRoot, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q"];
  try {
    await run(command, [...prefix, "update"]);
    await run(command, [...prefix, "install", "-y", "--no-install-recommends", ...packages]);
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}

/** Returns the Debian mirror that this machine is set up with; undefined where there is none. */
export function debianMirror(): string | undefined {
  const { stdout } = spawnSync("apt-get", ["indextargets", "--format", "$(REPO_URI)"], { encoding: "utf8" });
  const found = stdout?.split("\n").find((line) => /\/debian\/?$/.test(line));
  return found?.replace(/\/$/, "");
}

/**
 * Fetches packages of another release of Debian, and all that they need where `withDependencies`, and unpacks
 * them below `folder`: nothing is installed into this system.
 */
export async function unpackDebianPackages(
  packages: readonly string[],
  options: { mirror: string; suite: string; folder: string; withDependencies: boolean },
): Promise<void> {
  const { mirror, suite, folder, withDependencies } = options;
  const apt = `${folder}.apt`;
  const archives = join(apt, "archives");
  for (const path of [folder, join(apt, "lists/partial"), join(archives, "partial")])
    mkdirSync(path, { recursive: true });
  writeFileSync(join(apt, "status"), "");
  const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
  writeFileSync(join(apt, "sources.list"), `deb [signed-by=${keyring}] ${mirror} ${suite} main\n`);
  const settings = [
    `Dir::State=${apt}`,
    `Dir::State::status=${apt}/status`,
    `Dir::Cache=${apt}`,
    `Dir::Etc::sourcelist=${apt}/sources.list`,
    "Dir::Etc::sourceparts=-",
    "Acquire::Languages=none",
    "APT::Install-Recommends=false",
    "APT::Sandbox::User=root",
  ].flatMap((setting) => ["-o", setting]);
  const fetch = withDependencies ? ["install", "-y", "--download-only"] : ["download"];
  await run("apt-get", ["-q", ...settings, "update"]);
  await run("apt-get", ["-q", ...settings, ...fetch, ...packages], { cwd: archives });
  for (const deb of globSync("*.deb", { cwd: archives })) await run("dpkg-deb", ["-x", join(archives, deb), folder]);
  rmSync(apt, { recursive: true });
}

import { spawnSync } from "node:child_process";
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

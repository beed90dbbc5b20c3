import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

/** SoftHSM for the tests of PKCS #11, from Debian: installed where it is missing and we may. Without it those tests are skipped, and it is said so. */
export function ensureSoftHsm(say: (line: string) => void): void {
  if (spawnSync("softhsm2-util", ["--version"]).status === 0) return;
  if (process.platform === "linux" && process.getuid?.() === 0 && existsSync("/usr/bin/apt-get")) {
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    const install = ["install", "-y", "-qq", "--no-install-recommends", "softhsm2"];
    const apt = (args: string[]) => spawnSync("apt-get", args, { env, timeout: 180_000 }).status === 0;
    if (apt(install) || (apt(["update", "-qq"]) && apt(install))) {
      say("installed softhsm2 for the tests of PKCS #11");
      return;
    }
  }
  say("without softhsm2 the tests of PKCS #11 are skipped: install it with `apt-get install softhsm2`");
}

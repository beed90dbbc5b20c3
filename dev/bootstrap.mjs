// Entry of every npm script. Plain JavaScript for Node 20: installs what is missing, then runs
// dev/src/main.ts with the Node 24 that the lockfile pins.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const node = join(root, "node_modules/node/bin/node");

function fail(message) {
  console.error(`countersign: ${message}`);
  process.exit(1);
}

/** Whether node_modules holds what package-lock.json says (npm keeps its own record of what it installed). */
function dependenciesInstalled() {
  const record = join(root, "node_modules/.package-lock.json");
  if (!existsSync(record) || !existsSync(node)) return false;
  const wanted = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages;
  const found = JSON.parse(readFileSync(record, "utf8")).packages;
  return Object.entries(wanted).every(([path, entry]) => {
    if (!path.includes("node_modules/") || entry.optional || entry.devOptional) return true;
    return entry.link ? existsSync(join(root, path)) : found[path]?.version === entry.version;
  });
}

/** Returns whether this process holds the lock now; one that has ended no longer holds it. */
function takeLock(lock) {
  try {
    writeFileSync(lock, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
  }
  try {
    process.kill(Number(readFileSync(lock, "utf8")), 0);
  } catch (error) {
    if (error.code === "ESRCH") rmSync(lock, { force: true });
  }
  return false;
}

/** Installs what is missing, one command at a time: two at once would destroy each other's work. */
function install() {
  const lock = join(root, ".local/install.pid");
  mkdirSync(dirname(lock), { recursive: true });
  for (let waits = 0; !takeLock(lock); waits += 1) {
    if (waits === 0) console.log("another command installs the dependencies; waiting for it …");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
  }
  const isDone = dependenciesInstalled() || runNpm();
  rmSync(lock, { force: true });
  if (!isDone) fail("`npm ci` failed (above): check the network and the npm registry, then run it again.");
}

function runNpm() {
  console.log("installing dependencies (npm ci), one to five minutes the first time …");
  // npm runs us as a script: its own entry is in the environment. Without it, the npm on the path.
  const npm = process.env.npm_execpath;
  const [command, args] = npm?.endsWith(".js") ? [process.execPath, [npm]] : ["npm", []];
  const options = ["ci", "--no-audit", "--no-fund", "--loglevel=error", "--include=dev"];
  const { status, error } = spawnSync(command, [...args, ...options], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
  });
  return !error && status === 0;
}

/** Runs the program under Node 24 and passes signals and its exit code on. */
function handOver(args) {
  const env = {
    ...process.env,
    PATH: [dirname(node), join(root, "node_modules/.bin"), process.env.PATH].join(delimiter),
    CS_BOOTSTRAP_PID: String(process.pid),
  };
  const child = spawn(node, [join(root, "dev/src/main.ts"), ...args], { cwd: root, env, stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => fail(`${node} could not be started: ${error.message}`));
  child.on("exit", (code, signal) => process.exit(signal ? 1 : (code ?? 1)));
  // Should npm be killed outright, what it started must not stay behind.
  if (process.env.npm_lifecycle_event) {
    const parent = process.ppid;
    setInterval(() => process.ppid !== parent && child.kill("SIGTERM"), 500).unref();
  }
}

if (Number(process.versions.node.split(".")[0]) < 20)
  fail(`Node ${process.version} is too old: install Node 20 or newer.`);
if (!dependenciesInstalled()) install();
const { stdout } = spawnSync(node, ["--version"], { encoding: "utf8" });
if (!stdout?.startsWith("v24.")) fail(`${node} is not Node 24: remove node_modules and run the command again.`);
handOver(process.argv.slice(2));

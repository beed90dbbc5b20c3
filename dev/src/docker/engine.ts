import { spawn, spawnSync } from "node:child_process";
import { closeSync, cpSync, existsSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Failure } from "@countersign/build/fail.ts";
import { cacheDir } from "@countersign/build/paths.ts";
import { run } from "@countersign/build/run.ts";
import { debianMirror, installDebianPackages, unpackDebianPackages } from "@countersign/local-stack/debian-packages.ts";
import { isRunning } from "@countersign/local-stack/is-running.ts";

/** A Docker engine: `env` makes the `docker` command use it. */
export interface Engine {
  readonly env: NodeJS.ProcessEnv;
  /** Stops the engine if this process started it; it keeps its images. */
  stop(): Promise<void>;
}

/** The first versions with start_interval in health checks, and with build and image digests as used here. */
const ENGINE = [25, 0];
const COMPOSE = [2, 24];
const STARTED_WITHIN_MS = 60_000;
const STOPPED_WITHIN_MS = 60_000;
const BUILD_CACHE = "6GB";

/** Where an engine is that these commands installed: its programs, its images and its socket. */
const home = join(cacheDir(), "docker");
const at = (...path: string[]) => join(home, ...path);

/** These of Debian 13 need only libc6 2.34, so Debian 12 can run them; its own are too old. */
const PACKAGES = ["docker.io", "docker-cli", "docker-compose", "docker-buildx", "containerd", "tini"];
/** Installed into the system, from its own Debian. */
const SYSTEM_PACKAGES = ["ca-certificates", "iproute2", "iptables", "runc"];

function versionOf(env: NodeJS.ProcessEnv, args: string[]): number[] | undefined {
  const { status, stdout } = spawnSync("docker", args, { env, encoding: "utf8", timeout: 20_000 });
  const found = /(\d+)\.(\d+)/.exec(stdout ?? "");
  return status === 0 && found ? [Number(found[1]), Number(found[2])] : undefined;
}

const isOlder = ([major = 0, minor = 0]: number[], [wantedMajor = 0, wantedMinor = 0]: number[]): boolean =>
  major < wantedMajor || (major === wantedMajor && minor < wantedMinor);

/** Returns why an engine cannot be used, or "" where it can. */
function problemOf(env: NodeJS.ProcessEnv): string {
  const engine = versionOf(env, ["version", "--format", "{{.Server.Version}}"]);
  if (!engine) return "no Docker engine answers";
  if (isOlder(engine, ENGINE)) return `Docker Engine ${engine.join(".")} is older than ${ENGINE.join(".")}`;
  const compose = versionOf(env, ["compose", "version", "--short"]);
  if (!compose) return "`docker compose` is not installed";
  return isOlder(compose, COMPOSE) ? `Docker Compose ${compose.join(".")} is older than ${COMPOSE.join(".")}` : "";
}

const ownEnvironment = (): NodeJS.ProcessEnv => ({
  ...process.env,
  PATH: [at("root/usr/sbin"), at("root/usr/bin"), process.env.PATH].join(delimiter),
  DOCKER_HOST: `unix://${at("docker.sock")}`,
  DOCKER_CONFIG: at("config"),
});

/** Unpacks the engine's packages below `home`, and installs what they need. */
async function install(say: (line: string) => void): Promise<void> {
  const problem = await installDebianPackages(SYSTEM_PACKAGES, say);
  if (problem) throw new Failure(`the packages that Docker needs could not be installed: ${problem}`);
  const mirror = debianMirror();
  if (!mirror) throw new Failure("apt-get knows no Debian mirror: install Docker Engine 25 and Compose 2.24 or newer.");
  say(`unpacking ${PACKAGES.join(", ")} of Debian 13 in ${home} …`);
  await unpackDebianPackages(PACKAGES, { mirror, suite: "trixie", folder: at("root"), withDependencies: false });
  cpSync(at("root/usr/libexec/docker/cli-plugins"), at("config/cli-plugins"), { recursive: true });
  writeFileSync(at("installed"), PACKAGES.join(" "));
}

/** Returns the largest packet of this machine's way out: containers must not send larger ones. */
function mtu(): number {
  const { stdout } = spawnSync("ip", ["-o", "route", "show", "default"], { encoding: "utf8" });
  const device = /\bdev (\S+)/.exec(stdout ?? "")?.[1];
  const file = `/sys/class/net/${device}/mtu`;
  return existsSync(file) ? Number(readFileSync(file, "utf8")) : 1500;
}

async function start(env: NodeJS.ProcessEnv): Promise<Engine> {
  const config = {
    "data-root": at("data"),
    "exec-root": at("run"),
    pidfile: at("dockerd.pid"),
    hosts: [env.DOCKER_HOST],
    "init-path": at("root/usr/bin/tini-static"),
    "userland-proxy-path": at("root/usr/sbin/docker-proxy"),
    mtu: mtu(),
    // Images have digests without a registry, and their timestamps can be set.
    features: { "containerd-snapshotter": true },
    // Layers of earlier builds would fill most of the disk.
    builder: { gc: { enabled: true, defaultKeepStorage: BUILD_CACHE } },
  };
  writeFileSync(at("daemon.json"), JSON.stringify(config, null, 2));
  const log = openSync(at("dockerd.log"), "a");
  const child = spawn("dockerd", ["--config-file", at("daemon.json")], {
    env,
    detached: true,
    stdio: ["ignore", log, log],
  });
  closeSync(log);
  child.unref();
  const deadline = performance.now() + STARTED_WITHIN_MS;
  while (versionOf(env, ["version", "--format", "{{.Server.Version}}"]) === undefined) {
    if (child.exitCode !== null || performance.now() > deadline) {
      child.kill();
      throw new Failure(`dockerd did not start: see ${at("dockerd.log")}`);
    }
    await sleep(500);
  }
  // A build takes the tag of the one before, whose image stays without a name.
  await run("docker", ["image", "prune", "--force"], { env });
  const stop = async () => {
    const { pid = 0 } = child;
    if (isRunning(pid)) process.kill(pid, "SIGTERM");
    for (const end = performance.now() + STOPPED_WITHIN_MS; isRunning(pid) && performance.now() < end; )
      await sleep(200);
  };
  return { env, stop };
}

/**
 * Returns the Docker engine that `docker` finds. As root on Debian, where there is none that is new enough,
 * installs and starts one of its own, whose programs and images are in the cache directory.
 */
export async function findEngine(say: (line: string) => void): Promise<Engine> {
  const stop = async () => undefined;
  const problem = problemOf(process.env);
  if (!problem) return { env: process.env, stop };
  const env = ownEnvironment();
  if (!problemOf(env)) return { env, stop };
  if (process.platform !== "linux" || process.getuid?.() !== 0)
    throw new Failure(`${problem}: install Docker Engine ${ENGINE[0]} and Compose ${COMPOSE.join(".")} or newer.`);
  if (!existsSync(at("installed"))) await install(say);
  say(`starting dockerd; its state is in ${home}`);
  return start(env);
}

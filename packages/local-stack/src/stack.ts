import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ensureCadenceParser } from "@countersign/build/cadence-parser.ts";
import { Failure } from "@countersign/build/fail.ts";
import { generate } from "@countersign/build/generate.ts";
import { root, type ServiceName, services } from "@countersign/build/paths.ts";
import { migrate } from "@countersign/migrations/migrate.ts";
import { NODE_FLAGS } from "@countersign/runtime/node-flags.ts";
import { createAutoRestart } from "./auto-restart.ts";
import { ensureCertificates } from "./certificates.ts";
import { setUpNetwork } from "./chain-setup.ts";
import { logTail, type StartChild } from "./child.ts";
import { createDatabases, type DatabaseUrls } from "./databases.ts";
import { startEmulator } from "./emulator.ts";
import { authProviders, developmentClients, startIdentityProvider, WEB_WALLET_CLIENT } from "./identity-provider.ts";
import { isRunning } from "./is-running.ts";
import { startNats } from "./nats.ts";
import { developmentPasskeys } from "./passkeys.ts";
import { pooledUrl, startPgbouncer } from "./pgbouncer.ts";
import { freePort } from "./ports.ts";
import { startPostgres } from "./postgres.ts";
import { createRestarts, type Restarts } from "./restarts.ts";
import { ensureSecret } from "./secrets.ts";
import {
  type AddressOf,
  baseEnvironment,
  type EnvironmentInput,
  type ProgramName,
  processName,
  serviceEnvironment,
  stateFiles,
} from "./service-environment.ts";
import { choosePorts } from "./settings.ts";
import { describe } from "./stack-description.ts";
import type { Stack } from "./stack-file.ts";
import { Supervisor } from "./supervisor.ts";
import { ensureTools } from "./tools.ts";
import { waitFor } from "./wait.ts";
import { startWebWallet } from "./web-wallet.ts";

export interface StackOptions {
  stateDir: string;
  /** Ports that happen to be free instead of the configured ones. */
  freePorts: boolean;
  /** Starts again what dies by itself. Default: it is said, and stays dead. */
  autoRestart?: boolean;
  /** Serves examples/web-wallet. */
  webWallet?: boolean;
  /** Throw-away state: the database does not wait for the disk. */
  throwAway: boolean;
  /** The state was copied from a stack that was set up: see testing/stack-template.ts. */
  isCopy?: boolean;
  /** The PgBouncer through which the services connect to Postgres. Default: none. */
  pgbouncer?: string | undefined;
  /** A Postgres server for each service, with these further settings (name=value). Default: one for all. */
  ownPostgres?: (service: ServiceName) => readonly string[];
  /** Processes of each service and of the gateway, on the same databases. Default 1. */
  replicas?: number;
  /** Services and gateway that are started. Default: all. */
  programs?: readonly ProgramName[];
  /** Routes a hop through something else, for tests. */
  addressOf?: AddressOf;
  /** Whether services read their connection strings from files, which may change. */
  databaseUrlFiles?: boolean;
  /** Further variables of a service's or gateway's process, for tests. */
  extraEnvironment?: (process: string) => Record<string, string>;
  /**
   * The checkout whose program a process runs, asked at each of its starts: a test may mix versions. Default:
   * this one.
   */
  checkoutOf?: (process: string) => string;
  say(line: string): void;
  /** Resolves when the start is to be given up. */
  cancel?: Promise<void>;
}

export interface RunningStack {
  stack: Stack;
  stackFile: string;
  supervisor: Supervisor;
  /** Kills a process (by its name in stack.json) and its group with SIGKILL, and waits until it is gone. */
  kill(name: string): Promise<void>;
  /** Asks a process to end, as a deployment does, and waits until it has: SIGTERM, by force after a time. */
  end(name: string): Promise<void>;
  /**
   * Starts a dead process again, with the same settings, and waits until it is ready; stack.json has the new
   * pid.
   */
  restart(name: string): Promise<void>;
  /** The environment of a service's first process, for its commands. */
  environmentOf(service: ServiceName): Promise<NodeJS.ProcessEnv>;
  /** Ends every process and removes stack.json. */
  stop(): Promise<void>;
}

const allPrograms: readonly ProgramName[] = ["signer", "account", "device", "key", "auth", "gateway"];
const infrastructureTier = 0;
const serviceTier = 1;
const gatewayTier = 2;

/** Refuses a second stack on the same state: it would fight over the database and the chain. */
function claim(stateDir: string): string {
  const file = join(stateDir, "supervisor.pid");
  if (existsSync(file)) {
    const pid = Number(readFileSync(file, "utf8"));
    // The number may be another program's by now.
    const command = existsSync(`/proc/${pid}/cmdline`) ? readFileSync(`/proc/${pid}/cmdline`, "utf8") : "main.ts";
    if (pid !== process.pid && isRunning(pid) && /main\.ts|vitest/.test(command)) {
      throw new Failure(`the stack runs already (pid ${pid}): stop it first, or give another --state-dir.`);
    }
  }
  writeFileSync(file, String(process.pid));
  return file;
}

/** Starts one Postgres server for all databases, or one for each, and creates the databases. */
async function startServers(
  { stateDir, throwAway, ownPostgres, say }: StackOptions,
  port: number,
  logFile: string,
  start: StartChild,
  restarts: Restarts,
): Promise<DatabaseUrls> {
  if (!ownPostgres) {
    const shared = { stateDir, port, logFile, throwAway, start };
    const postgres = await restarts.begin("postgres", () => startPostgres(shared));
    if (postgres.replaced) say("postgres had data of an earlier checkout at this path: created again");
    await createDatabases(postgres);
    return postgres;
  }
  const begun = services.map(async (service) => {
    const name = `postgres-${service}`;
    const own = { stateDir: join(stateDir, name), name, port: await freePort(), settings: ownPostgres(service) };
    const ownLog = join(stateDir, "log", `${name}.log`);
    const postgres = await restarts.begin(name, () => startPostgres({ ...own, logFile: ownLog, start }));
    await createDatabases(postgres, [service]);
    return [service, postgres] as const;
  });
  const servers = new Map(await Promise.all(begun));
  return { adminUrl: servers.get("auth")!.adminUrl, urlOf: (service) => servers.get(service)!.urlOf(service) };
}

async function startDatabases(
  options: StackOptions,
  port: number,
  logFile: string,
  start: StartChild,
  restarts: Restarts,
) {
  const postgres = await startServers(options, port, logFile, start, restarts);
  const applied = await Promise.all(services.map((service) => migrate(service, postgres.urlOf(service))));
  options.say(`postgres is up${applied.some(({ length }) => length > 0) ? "" : ", migrations are up to date"}`);
  for (const [index, names] of applied.entries()) {
    if (names.length > 0) options.say(`  ${services[index]}: ${names.length} migrations, up to ${names.at(-1)}`);
  }
  return postgres;
}

/** Returns how services connect to their databases: directly, or through the PgBouncer that it starts. */
async function startPooler(
  { pgbouncer: binary, stateDir }: StackOptions,
  { urlOf }: DatabaseUrls,
  logFile: string,
  start: StartChild,
  restarts: Restarts,
): Promise<(service: ServiceName) => string> {
  if (!binary) return urlOf;
  const port = await freePort();
  const databases = Object.fromEntries(services.map((service) => [`countersign_${service}`, urlOf(service)]));
  await restarts.begin("pgbouncer", () => startPgbouncer({ binary, stateDir, port, databases, logFile, start }));
  return (service) => pooledUrl(urlOf(service), port);
}

function entryPoint(name: ProgramName, checkout: string): string {
  return name === "gateway" ? join(checkout, "gateway/src/main.ts") : join(checkout, "services", name, "src/main.ts");
}

/** Returns the environment of a process as its own version sets it up: it knows its own settings only. */
async function environmentOf(name: ProgramName, replica: number, input: EnvironmentInput, checkout: string) {
  if (checkout === root) return serviceEnvironment(name, replica, input);
  const itsOwn = await import(join(checkout, "packages/local-stack/src/service-environment.ts"));
  return (itsOwn.serviceEnvironment as typeof serviceEnvironment)(name, replica, input);
}

/** Returns the command of a process. The signer's leaves no core dump, which would contain its keys. */
function commandOf(name: ProgramName, checkout: string): { command: string; args: string[] } {
  const args = [...NODE_FLAGS[name], entryPoint(name, checkout)];
  if (name !== "signer") return { command: process.execPath, args };
  return { command: "/bin/sh", args: ["-c", 'ulimit -c 0; exec "$0" "$@"', process.execPath, ...args] };
}

async function startService(
  name: ProgramName,
  replica: number,
  input: EnvironmentInput,
  supervisor: Supervisor,
  checkout = root,
) {
  const child = await supervisor.starter(name === "gateway" ? gatewayTier : serviceTier)({
    name: processName(name, replica),
    ...commandOf(name, checkout),
    cwd: checkout,
    env: await environmentOf(name, replica, input, checkout),
    logFile: join(input.stateDir, "log", `${processName(name, replica)}.log`),
  });
  await waitFor(child, `http://127.0.0.1:${input.replicas[replica]?.[`${name}Admin`]}/startupz`, (why) =>
    Promise.reject(new Failure(`${child.name} ${why}; the end of ${child.logFile}:\n${logTail(child.logFile)}`)),
  );
  return child;
}

/** Starts everything in as much parallel as the dependencies allow, and gives it when all of it is ready. */
export async function startStack(options: StackOptions): Promise<RunningStack> {
  const { stateDir, say } = options;
  mkdirSync(join(stateDir, "log"), { recursive: true });
  const pidFile = claim(stateDir);
  const stackFile = join(stateDir, "stack.json");
  rmSync(stackFile, { force: true });
  let autoRestart: ((name: string) => Promise<void>) | undefined;
  const supervisor = new Supervisor(say, (name) => void autoRestart?.(name));
  const stop = async () => {
    await supervisor.stop();
    for (const path of [stackFile, pidFile]) rmSync(path, { force: true });
  };
  const restarts = createRestarts();
  try {
    const cancelled = options.cancel?.then(() => Promise.reject(new Failure("stopped before everything was ready.")));
    const work = [bringUp(options, supervisor, restarts), supervisor.diedEarly, ...(cancelled ? [cancelled] : [])];
    const { stack, environmentOf } = await Promise.race(work);
    cancelled?.catch(() => undefined);
    const writeStackFile = () => {
      writeFileSync(`${stackFile}.new`, `${JSON.stringify(stack, null, 2)}\n`, { mode: 0o600 });
      renameSync(`${stackFile}.new`, stackFile);
    };
    writeStackFile();
    supervisor.ready();
    const restart = async (name: string) => {
      await restarts.again(name);
      const described = stack.processes[name];
      if (described) described.pid = supervisor.find(name)?.pid ?? described.pid;
      writeStackFile();
    };
    if (options.autoRestart) autoRestart = createAutoRestart({ restart, say });
    const kill = (name: string) => supervisor.killOne(name);
    const end = (name: string) => supervisor.stopOne(name);
    return { stack, stackFile, supervisor, kill, end, restart, environmentOf, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function bringUp(options: StackOptions, supervisor: Supervisor, restarts: Restarts) {
  const { stateDir, say } = options;
  const replicas = await choosePorts({ free: options.freePorts, replicas: options.replicas ?? 1 });
  const [ports] = replicas;
  const log = (name: string) => join(stateDir, "log", `${name}.log`);
  const gateway = `http://localhost:${ports.gateway}`;
  const issuer = `http://localhost:${ports.identityProvider}`;
  const webWallet = options.webWallet ? `http://localhost:${ports.webWallet}` : undefined;
  const clients = developmentClients(gateway, webWallet);
  const files = stateFiles(stateDir);
  const secretFile = files.serverAppSecret;
  for (const path of [files.tokenKeyEncryptionKey, files.keystorePassphrase, secretFile]) ensureSecret(path);
  writeFileSync(files.providers, `${JSON.stringify(authProviders(issuer, clients, secretFile), null, 2)}\n`);

  const gateways = replicas.map((own) => `http://localhost:${own.gateway}`);
  const pages = webWallet === undefined ? [] : [webWallet];
  writeFileSync(files.passkeys, `${JSON.stringify(developmentPasskeys([...gateways, ...pages]), null, 2)}\n`);

  const generated = Promise.all([generate(), ensureCadenceParser(say)]).then(
    ([made]) => made.length > 0 && say(`generated ${made.join(", ")}`),
  );
  const start = supervisor.starter(infrastructureTier);
  const tools = ensureTools(say);
  const databases = startDatabases(options, ports.postgres, log("postgres"), start, restarts);
  const certificates = ensureCertificates(stateDir);
  const nats = Promise.all([tools, certificates]).then(async ([{ natsServer }]) => {
    await restarts.begin("nats", () =>
      startNats({ binary: natsServer, stateDir, port: ports.nats, logFile: log("nats"), start }),
    );
    say("nats is up");
  });
  const provider = {
    stateDir,
    port: ports.identityProvider,
    issuer,
    clients,
    secretFile,
    logFile: log("identity-provider"),
    start,
  };
  const identityProvider = restarts.begin("identity-provider", () => startIdentityProvider(provider));
  const emulator = tools.then(({ flowEmulator }) =>
    restarts.begin("flow-emulator", () =>
      startEmulator({ binary: flowEmulator, stateDir, ports, logFile: log("flow-emulator"), start }),
    ),
  );
  const network = Promise.all([emulator, generated]).then(async () => {
    const env = { ...baseEnvironment(), ...keystoreEnvironment(stateDir) };
    const accessNode = `http://127.0.0.1:${ports.flowRest}`;
    const set = await setUpNetwork({
      accessNode,
      networksFile: files.networks,
      serviceKeyFile: files.flowServiceKey,
      env,
      isCopy: options.isCopy,
    });
    say(`flow emulator is up, creator 0x${set.creator.address}, paymaster 0x${set.paymaster.address}`);
    return set;
  });
  // Each failure must be handled once, by the wait below, and never as an unhandled rejection.
  const [postgres, , , , chain] = await Promise.all([databases, nats, identityProvider, emulator, network, generated]);

  const natsUrl = `nats://127.0.0.1:${ports.nats}`;
  const databaseUrl = await startPooler(options, postgres, log("pgbouncer"), start, restarts);
  const { addressOf, extraEnvironment } = options;
  const input: EnvironmentInput = {
    stateDir,
    replicas,
    gateway,
    allowedOrigins: pages,
    natsUrl,
    networksFile: files.networks,
    databaseUrl,
    databaseUrlFiles: options.databaseUrlFiles,
    addressOf,
    extraEnvironment,
  };
  const programs = (options.programs ?? allPrograms).filter((name) => existsSync(entryPoint(name, root)));
  if (programs.length > 0)
    say(`starting ${programs.join(", ")}${replicas.length > 1 ? `, ${replicas.length} of each` : ""}`);
  await Promise.all(
    programs.flatMap((name) =>
      replicas.map((_, replica) =>
        restarts.begin(processName(name, replica), () =>
          startService(name, replica, input, supervisor, options.checkoutOf?.(processName(name, replica))),
        ),
      ),
    ),
  );

  if (webWallet !== undefined) {
    const { chainName, accessNode, paymaster } = chain;
    const network = { chainName, accessNode, paymaster: paymaster.address };
    const page = { gateway, issuer, clientId: WEB_WALLET_CLIENT, network };
    await restarts.begin("web-wallet", () =>
      startWebWallet({ stateDir, port: ports.webWallet, page, logFile: log("web-wallet"), start }),
    );
  }

  const parts = { stateDir, gateway, issuer, webWallet, clients, natsUrl, postgres, replicas, chain, supervisor };
  const environmentOf = (service: ServiceName) => serviceEnvironment(service, 0, input);
  return { stack: describe(parts), environmentOf };
}

function keystoreEnvironment(stateDir: string): NodeJS.ProcessEnv {
  const files = stateFiles(stateDir);
  return { SIGNER_KEYSTORE_FILE: files.keystore, SIGNER_KEYSTORE_PASSPHRASE_FILE: files.keystorePassphrase };
}

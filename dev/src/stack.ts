import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { certificateNames, ensureCertificates, tlsFiles } from "./certificates.ts";
import { setUpChain } from "./chain-setup.ts";
import { type Child, logTail } from "./child.ts";
import { startEmulator } from "./emulator.ts";
import { Failure } from "./fail.ts";
import { generate } from "./generate.ts";
import { authProviders, developmentClients, startIdentityProvider } from "./identity-provider.ts";
import { migrate } from "./migrate.ts";
import { startNats } from "./nats.ts";
import { root, type ServiceName, services } from "./paths.ts";
import { createDatabases, type Postgres, startPostgres } from "./postgres.ts";
import { ensureSecret } from "./secrets.ts";
import { baseEnvironment, type EnvironmentInput, serviceEnvironment, stateFiles } from "./service-environment.ts";
import { choosePorts } from "./settings.ts";
import type { Stack, StackProcess } from "./stack-file.ts";
import { Supervisor } from "./supervisor.ts";
import { ensureTools } from "./tools.ts";
import { waitFor } from "./wait.ts";

export interface StackOptions {
  stateDir: string;
  /** Ports that happen to be free instead of the configured ones. */
  freePorts: boolean;
  /** Throw-away state: the database does not wait for the disk. */
  throwAway: boolean;
  say(line: string): void;
  /** Resolves when the start is to be given up. */
  cancel?: Promise<void>;
}

export interface RunningStack {
  stack: Stack;
  stackFile: string;
  supervisor: Supervisor;
  /** Ends every process and removes stack.json. */
  stop(): Promise<void>;
}

const infrastructureTier = 0;
const serviceTier = 1;
const gatewayTier = 2;

/** Refuses a second stack on the same state: it would fight over the database and the chain. */
function claim(stateDir: string): string {
  const file = join(stateDir, "supervisor.pid");
  if (existsSync(file)) {
    const pid = Number(readFileSync(file, "utf8"));
    try {
      process.kill(pid, 0);
      const command = existsSync(`/proc/${pid}/cmdline`) ? readFileSync(`/proc/${pid}/cmdline`, "utf8") : "main.ts";
      if (pid !== process.pid && /main\.ts|vitest/.test(command)) {
        throw new Failure(`the stack runs already (pid ${pid}): stop it first, or give another --state-dir.`);
      }
    } catch (error) {
      if (error instanceof Failure) throw error;
    }
  }
  writeFileSync(file, String(process.pid));
  return file;
}

async function startDatabases(options: StackOptions, port: number, logFile: string, supervisor: Supervisor) {
  const { stateDir, throwAway } = options;
  const start = supervisor.starter(infrastructureTier);
  const postgres = await startPostgres({ stateDir, port, logFile, throwAway, start });
  await createDatabases(postgres);
  const applied = await Promise.all(services.map((service) => migrate(service, postgres.urlOf(service))));
  const names = applied.flatMap((list, index) => list.map((name) => `${services[index]}/${name}`));
  options.say(`postgres is up${names.length > 0 ? `, applied ${names.join(", ")}` : ", migrations are up to date"}`);
  return postgres;
}

function entryPoint(name: ServiceName | "gateway"): string {
  return name === "gateway" ? join(root, "gateway/src/main.ts") : join(root, "services", name, "src/main.ts");
}

async function startService(name: ServiceName | "gateway", input: EnvironmentInput, supervisor: Supervisor) {
  const child = await supervisor.starter(name === "gateway" ? gatewayTier : serviceTier)({
    name,
    command: process.execPath,
    args: [entryPoint(name)],
    cwd: root,
    env: serviceEnvironment(name, input),
    logFile: join(input.stateDir, "log", `${name}.log`),
  });
  await waitFor(child, `http://127.0.0.1:${input.ports[`${name}Admin`]}/readyz`, (why) =>
    Promise.reject(new Failure(`${name} ${why}; the end of ${child.logFile}:\n${logTail(child.logFile)}`)),
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
  const supervisor = new Supervisor(say);
  const stop = async () => {
    await supervisor.stop();
    for (const path of [stackFile, pidFile]) rmSync(path, { force: true });
  };
  try {
    const cancelled = options.cancel?.then(() => Promise.reject(new Failure("stopped before everything was ready.")));
    const work = [bringUp(options, supervisor), supervisor.diedEarly, ...(cancelled ? [cancelled] : [])];
    const stack = await Promise.race(work);
    cancelled?.catch(() => undefined);
    writeFileSync(`${stackFile}.new`, `${JSON.stringify(stack, null, 2)}\n`, { mode: 0o600 });
    renameSync(`${stackFile}.new`, stackFile);
    supervisor.ready();
    return { stack, stackFile, supervisor, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function bringUp(options: StackOptions, supervisor: Supervisor): Promise<Stack> {
  const { stateDir, say } = options;
  const ports = await choosePorts({ free: options.freePorts });
  const log = (name: string) => join(stateDir, "log", `${name}.log`);
  const gateway = `http://localhost:${ports.gateway}`;
  const issuer = `http://localhost:${ports.identityProvider}`;
  const clients = developmentClients(gateway);
  const files = stateFiles(stateDir);
  for (const path of [files.tokenKeyEncryptionKey, files.keystorePassphrase]) ensureSecret(path);
  writeFileSync(files.providers, `${JSON.stringify(authProviders(issuer, clients), null, 2)}\n`);

  const generated = generate().then((made) => made.length > 0 && say(`generated ${made.join(", ")}`));
  const start = supervisor.starter(infrastructureTier);
  const tools = ensureTools(say);
  const databases = startDatabases(options, ports.postgres, log("postgres"), supervisor);
  const certificates = ensureCertificates(stateDir);
  const nats = Promise.all([tools, certificates]).then(async ([{ natsServer }]) => {
    await startNats({ binary: natsServer, stateDir, port: ports.nats, logFile: log("nats"), start });
    say("nats is up");
  });
  const identityProvider = startIdentityProvider({
    stateDir,
    port: ports.identityProvider,
    issuer,
    clients,
    logFile: log("identity-provider"),
    start,
  });
  const emulator = tools.then(({ flowEmulator }) =>
    startEmulator({ binary: flowEmulator, stateDir, ports, logFile: log("flow-emulator"), start }),
  );
  const network = Promise.all([emulator, generated]).then(async () => {
    const set = await setUpChain({ stateDir, ports, env: { ...baseEnvironment(), ...keystoreEnvironment(stateDir) } });
    say(`flow emulator is up, creator 0x${set.creator.address}, paymaster 0x${set.paymaster.address}`);
    return set;
  });
  // Each failure must be seen once, by whoever waits below, and never as an unhandled rejection.
  const [postgres, , , , chain] = await Promise.all([databases, nats, identityProvider, emulator, network, generated]);

  const natsUrl = `nats://127.0.0.1:${ports.nats}`;
  const databaseUrl = (service: ServiceName) => postgres.urlOf(service);
  const input = { stateDir, ports, gateway, natsUrl, networksFile: files.networks, databaseUrl };
  const programs = (["signer", "account", "device", "key", "auth", "gateway"] as const).filter((name) =>
    existsSync(entryPoint(name)),
  );
  say(`starting ${programs.join(", ")}`);
  await Promise.all(programs.map((name) => startService(name, input, supervisor)));

  return describe({ stateDir, gateway, issuer, clients, natsUrl, postgres, ports, chain, supervisor });
}

function keystoreEnvironment(stateDir: string): NodeJS.ProcessEnv {
  const files = stateFiles(stateDir);
  return { SIGNER_KEYSTORE_FILE: files.keystore, SIGNER_KEYSTORE_PASSPHRASE_FILE: files.keystorePassphrase };
}

interface Parts {
  stateDir: string;
  gateway: string;
  issuer: string;
  clients: ReturnType<typeof developmentClients>;
  natsUrl: string;
  postgres: Postgres;
  ports: Awaited<ReturnType<typeof choosePorts>>;
  chain: Awaited<ReturnType<typeof setUpChain>>;
  supervisor: Supervisor;
}

/** A path as stack.json names it: relative to the checkout where it lies in it. */
function shown(path: string): string {
  const inside = relative(root, path);
  return inside.startsWith("..") ? path : inside;
}

function describe(parts: Parts): Stack {
  const { ports, stateDir } = parts;
  const describeProcess = ({ name, pid }: Child): StackProcess => {
    const admin = ports[`${name}Admin` as keyof typeof ports] as number | undefined;
    const grpc = services.includes(name as ServiceName) ? { grpc: `127.0.0.1:${ports[name as ServiceName]}` } : {};
    return { pid, ...grpc, ...(admin ? { metrics: `http://127.0.0.1:${admin}/metrics` } : {}) };
  };
  const outsideClients = certificateNames.filter(
    (name) => name !== "gateway" && name !== "nats" && !services.includes(name as ServiceName),
  );
  return {
    gateway: parts.gateway,
    identityProvider: {
      issuer: parts.issuer,
      clients: parts.clients.map(({ clientId, redirectUri, appId, appName }) => ({
        clientId,
        redirectUri,
        appId,
        appName,
      })),
    },
    chains: [
      {
        chainName: parts.chain.chainName,
        accessNode: parts.chain.accessNode,
        paymaster: `0x${parts.chain.paymaster.address}`,
        creator: `0x${parts.chain.creator.address}`,
      },
    ],
    nats: parts.natsUrl,
    postgres: parts.postgres.adminUrl,
    databases: Object.fromEntries(services.map((service) => [service, parts.postgres.urlOf(service)])),
    networksFile: shown(stateFiles(stateDir).networks),
    stateDir: shown(stateDir) || ".",
    processes: Object.fromEntries(parts.supervisor.children.map((child) => [child.name, describeProcess(child)])),
    tls: {
      ca: shown(tlsFiles(stateDir, "ca").ca),
      clients: Object.fromEntries(
        outsideClients.map((name) => {
          const { cert, key } = tlsFiles(stateDir, name);
          return [name, { cert: shown(cert), key: shown(key) }];
        }),
      ),
    },
  };
}

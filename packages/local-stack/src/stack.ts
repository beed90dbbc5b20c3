import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ensureCadenceParser } from "@countersign/build/cadence-parser.ts";
import { Failure } from "@countersign/build/fail.ts";
import { generate } from "@countersign/build/generate.ts";
import { root, type ServiceName } from "@countersign/build/paths.ts";
import { parsePartitions } from "@countersign/events/stream.ts";
import { createAutoRestart } from "./auto-restart.ts";
import { ensureCertificates } from "./certificates.ts";
import { setUpNetwork } from "./chain-setup.ts";
import { startEmulator } from "./emulator.ts";
import { authProviders, developmentClients, startIdentityProvider, WEB_WALLET_CLIENT } from "./identity-provider.ts";
import { isRunning } from "./is-running.ts";
import { clientOfApp } from "./local-apps.ts";
import { startNats } from "./nats.ts";
import { developmentPasskeys } from "./passkeys.ts";
import { createRestarts, type Restarts } from "./restarts.ts";
import { ensureSecret } from "./secrets.ts";
import {
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
import type { StackOptions } from "./stack-options.ts";
import { startDatabases, startPooler } from "./start-databases.ts";
import { entryPoint, startService } from "./start-service.ts";
import { Supervisor, TIERS } from "./supervisor.ts";
import { ensureTools } from "./tools.ts";
import { ensureWallet } from "./web-wallet/build.ts";
import { startWebWallet } from "./web-wallet.ts";

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
  const { apps = [] } = options;
  const clients = [...developmentClients(gateway, webWallet), ...apps.map(clientOfApp)];
  const files = stateFiles(stateDir);
  const secretFile = files.serverAppSecret;
  for (const path of [files.tokenKeyEncryptionKey, files.keystorePassphrase, secretFile]) ensureSecret(path);
  writeFileSync(files.providers, `${JSON.stringify(authProviders(issuer, clients, secretFile), null, 2)}\n`);

  const gateways = replicas.map((own) => `http://localhost:${own.gateway}`);
  const pages = [...(webWallet === undefined ? [] : [webWallet]), ...apps.flatMap(({ origin }) => origin ?? [])];
  writeFileSync(files.passkeys, `${JSON.stringify(developmentPasskeys([...gateways, ...pages]), null, 2)}\n`);

  // A developer's own policies and endpoints stay.
  if (!existsSync(files.attestation)) writeFileSync(files.attestation, `${JSON.stringify({ apps: [] })}\n`);
  if (!existsSync(files.webhooks)) writeFileSync(files.webhooks, `${JSON.stringify({ endpoints: [] })}\n`);

  const generated = Promise.all([generate(), ensureCadenceParser(say)]).then(
    ([made]) => made.length > 0 && say(`generated ${made.join(", ")}`),
  );
  const builtWallet = webWallet === undefined ? undefined : ensureWallet(say);
  const start = supervisor.starter(TIERS.infrastructure);
  const tools = ensureTools(say);
  const databases = startDatabases(options, ports.postgres, log("postgres"), start, restarts);
  const certificates = ensureCertificates(stateDir);
  const { partitions = parsePartitions(process.env.CS_NATS_PARTITIONS || "1") } = options;
  const nats = Promise.all([tools, certificates]).then(async ([{ natsServer }]) => {
    await restarts.begin("nats", () =>
      startNats({ binary: natsServer, stateDir, port: ports.nats, partitions, logFile: log("nats"), start }),
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
  const [postgres, , , , chain] = await Promise.all([
    databases,
    nats,
    identityProvider,
    emulator,
    network,
    generated,
    builtWallet,
  ]);

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

  if (builtWallet !== undefined) {
    const folder = await builtWallet;
    const { chainName, accessNode, paymaster } = chain;
    const network = { chainName, accessNode, paymaster: paymaster.address };
    const page = { gateway, issuer, clientId: WEB_WALLET_CLIENT, network };
    await restarts.begin("web-wallet", () =>
      startWebWallet({
        stateDir,
        port: ports.webWallet,
        folder,
        page,
        serviceKeyFile: files.flowServiceKey,
        logFile: log("web-wallet"),
        start,
      }),
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

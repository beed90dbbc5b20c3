import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ensureCadenceParser } from "@countersign/build/cadence-parser.ts";
import { Failure } from "@countersign/build/fail.ts";
import { run } from "@countersign/build/run.ts";
import { type Child, logTail } from "@countersign/local-stack/child.ts";
import { freePorts } from "@countersign/local-stack/ports.ts";
import { postgresHome, startPostgres } from "@countersign/local-stack/postgres.ts";
import { readTrimmed } from "@countersign/local-stack/secrets.ts";
import { baseEnvironment } from "@countersign/local-stack/service-environment.ts";
import { Supervisor } from "@countersign/local-stack/supervisor.ts";
import { ensureTools, type ToolPaths } from "@countersign/local-stack/tools.ts";
import pg from "pg";
import { type ComposeService, namesOf, readComposeFile, startOrder } from "./compose-file.ts";
import { assembleImage } from "./image.ts";

export interface Rehearsal {
  gateway: string;
  issuer: string;
  /** The directory that represents /app: the files of the image, production dependencies only. */
  app: string;
  stop(): Promise<void>;
}

const HEALTHY_MS = 120_000;
/** Ports of the emulator that docker-compose.yml leaves as they are: nobody else is in its container. */
const INNER_PORTS = ["CS_PORT_FLOW_GRPC", "CS_PORT_FLOW_ADMIN", "CS_PORT_FLOW_DEBUGGER"];

/**
 * Translates settings of containers to this machine: directories below `state`, names to loopback, ports to
 * free ones.
 */
async function translation(services: Record<string, ComposeService>, state: string, app: string) {
  const names = Object.entries(services).flatMap(([name, service]) => namesOf(name, service));
  const texts = Object.values(services).flatMap(({ environment = {}, healthcheck }) => [
    ...Object.values(environment),
    ...(healthcheck?.test ?? []),
  ]);
  const address = new RegExp(
    `\\b(localhost|0\\.0\\.0\\.0|127\\.0\\.0\\.1|${names.join("|").replaceAll(".", "\\.")}):(\\d+)\\b`,
    "g",
  );
  const numbers = [...new Set(texts.flatMap((text) => [...text.matchAll(address)].map((match) => match[2] as string)))];
  const free = await freePorts(numbers.length);
  const ports = new Map(numbers.map((number, index) => [number, free[index] as number]));
  const translate = (text: string): string =>
    text
      .replace(/^\/state(?=\/|$)/, state)
      .replace(/^\/app(?=\/|$)/, app)
      .replaceAll(address, (_, host: string, port: string) => {
        return `${host === "localhost" ? host : "127.0.0.1"}:${ports.get(port)}`;
      });
  return { translate, port: (number: string) => ports.get(number) as number };
}

function programOf(command: string, tools: ToolPaths): string {
  if (command === "node") return process.execPath;
  if (command === "nats-server") return tools.natsServer;
  throw new Failure(`no program for ${command}.`);
}

/**
 * Runs docker-compose.yml without containers: assembles the image's files, then runs every step and process
 * of the file with its own command, environment and order, on free ports of loopback. Postgres is the
 * checkout's own; isolation is not shown.
 */
export async function rehearse(directory: string, say: (line: string) => void): Promise<Rehearsal> {
  const { services } = readComposeFile();
  const state = join(directory, "state");
  const tools = await ensureTools(say);
  await ensureCadenceParser(say);
  const app = await assembleImage("app", join(directory, "image"), say);
  const { translate, port } = await translation(services, state, app);
  for (const { volumes = [] } of Object.values(services)) {
    for (const volume of volumes) mkdirSync(join(directory, volume.split(":")[1] ?? ""), { recursive: true });
  }
  const supervisor = new Supervisor(say);
  const start = supervisor.starter(0);
  const inner = await freePorts(INNER_PORTS.length);

  const environmentOf = ({ environment = {} }: ComposeService): NodeJS.ProcessEnv => ({
    ...baseEnvironment(),
    NODE_ENV: "production",
    CS_FLOW_EMULATOR: tools.flowEmulator,
    ...Object.fromEntries(INNER_PORTS.map((name, index) => [name, String(inner[index])])),
    ...Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, translate(value)])),
  });

  async function postgres(): Promise<void> {
    const logFile = join(directory, "postgres.log");
    const { adminUrl } = await startPostgres({ stateDir: state, port: port("5432"), logFile, throwAway: true, start });
    const client = new pg.Client({ connectionString: adminUrl });
    await client.connect();
    const password = client.escapeLiteral(readTrimmed(join(state, "postgres/password")));
    await client.query(`ALTER ROLE postgres PASSWORD ${password}`);
    await client.end();
  }

  async function healthy(child: Child, service: ComposeService, env: NodeJS.ProcessEnv): Promise<void> {
    const [, command = "", ...args] = service.healthcheck?.test ?? [];
    const deadline = performance.now() + HEALTHY_MS;
    for (;;) {
      if (!child.running() || performance.now() > deadline)
        throw new Failure(`${child.name} did not become healthy:\n${logTail(child.logFile, 20)}`);
      const check = run(programOf(command, tools), args.map(translate), { cwd: app, env });
      if (
        await check.then(
          () => true,
          () => false,
        )
      )
        return;
      await sleep(200);
    }
  }

  async function play(name: string, service: ComposeService): Promise<void> {
    if (name === "postgres") return postgres();
    const [command = "", ...args] = service.command.map(translate);
    const env = environmentOf(service);
    const program = programOf(command, tools);
    if (service.restart === undefined) {
      say(`${name}: ${(await run(program, args, { cwd: app, env })).trim().split("\n").at(-1)}`);
      return;
    }
    const child = await start({ name, command: program, args, cwd: app, env, logFile: join(directory, `${name}.log`) });
    await healthy(child, service, env);
    say(`${name} is healthy`);
  }

  const played = new Map<string, Promise<void>>();
  for (const name of startOrder(services)) {
    const service = services[name] as ComposeService;
    const needed = Object.keys(service.depends_on ?? {}).map((other) => played.get(other));
    played.set(
      name,
      Promise.all(needed).then(() => play(name, service)),
    );
  }
  const stop = async () => {
    await supervisor.stop();
    rmSync(postgresHome(state), { recursive: true, force: true });
  };
  try {
    await Promise.race([Promise.all(played.values()), supervisor.diedEarly]);
  } catch (error) {
    await Promise.allSettled(played.values());
    await stop();
    throw error;
  }
  return { gateway: translate("http://localhost:8080"), issuer: translate("http://localhost:9000"), app, stop };
}

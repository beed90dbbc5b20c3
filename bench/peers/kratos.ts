import { chmodSync, cpSync, existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "@countersign/build/run.ts";
import { startChild } from "@countersign/local-stack/child.ts";
import { freePorts } from "@countersign/local-stack/ports.ts";
import { buildDirectory, type Peer, type PeerOptions, sendJson, untilAnswers } from "./peer.ts";

const MODULE = "github.com/ory/kratos@v1.3.1";
const PASSWORD = "correct horse battery staple 42";

/** Builds Kratos from its Go module, once; CS_KRATOS names a binary to use instead. */
async function binary(say: (line: string) => void): Promise<string> {
  const named = process.env.CS_KRATOS;
  if (named) return named;
  const directory = buildDirectory("kratos");
  const target = join(directory, MODULE.replaceAll("/", "-"));
  if (existsSync(target)) return target;
  say(`building ${MODULE} with Go, once (about 10 minutes) …`);
  // From a copy: the module replaces dependencies, which `go install` does not accept.
  const source = join(directory, "source");
  rmSync(source, { recursive: true, force: true });
  const { Dir } = JSON.parse(await run("go", ["mod", "download", "-json", MODULE], { cwd: directory }));
  cpSync(Dir, source, { recursive: true });
  for (const path of [
    source,
    ...readdirSync(source, { recursive: true, encoding: "utf8" }).map((name) => join(source, name)),
  ])
    chmodSync(path, 0o755);
  await run("go", ["build", "-mod=mod", "-o", target, "."], { cwd: source });
  rmSync(source, { recursive: true });
  return target;
}

/** Starts Kratos on Postgres, with password login and one kind of identity. */
export async function startKratos({ databaseUrl, directory, say }: PeerOptions): Promise<Peer & { admin: string }> {
  const command = await binary(say);
  const [port, adminPort] = (await freePorts(2)) as [number, number];
  const schema = join(directory, "person.schema.json");
  const credentials = { password: { identifier: true } };
  const email = { type: "string", format: "email", "ory.sh/kratos": { credentials } };
  const traits = { type: "object", properties: { email }, required: ["email"] };
  writeFileSync(schema, JSON.stringify({ type: "object", properties: { traits } }));
  const config = join(directory, "kratos.json");
  const settings = {
    dsn: `${databaseUrl}?sslmode=disable&max_conns=20`,
    serve: {
      public: { host: "127.0.0.1", port, base_url: `http://127.0.0.1:${port}/` },
      admin: { host: "127.0.0.1", port: adminPort, base_url: `http://127.0.0.1:${adminPort}/` },
    },
    selfservice: {
      default_browser_return_url: `http://127.0.0.1:${port}/`,
      methods: { password: { enabled: true } },
    },
    identity: { default_schema_id: "person", schemas: [{ id: "person", url: `file://${schema}` }] },
    hashers: { algorithm: "bcrypt", bcrypt: { cost: 4 } },
    courier: { smtp: { connection_uri: "smtp://127.0.0.1:1/?disable_starttls=true" } },
    log: { level: "error" },
  };
  writeFileSync(config, JSON.stringify(settings));
  await run(command, ["migrate", "sql", "-e", "--yes", "-c", config], { env: { ...process.env, DSN: settings.dsn } });
  const child = await startChild({
    name: "kratos",
    command,
    args: ["serve", "-c", config],
    logFile: join(directory, "kratos.log"),
  });
  const peer = { url: `http://127.0.0.1:${port}`, admin: `http://127.0.0.1:${adminPort}`, child };
  await untilAnswers(peer, "/health/ready");
  return peer;
}

/** Creates a person who has logged in. Returns the session's token. */
export async function logIn({ url, admin }: Awaited<ReturnType<typeof startKratos>>, name: string): Promise<string> {
  const identifier = `${name}@example.com`;
  await sendJson("POST", `${admin}/admin/identities`, {
    schema_id: "person",
    traits: { email: identifier },
    credentials: { password: { config: { password: PASSWORD } } },
  });
  const flow = await sendJson<{ id: string }>("GET", `${url}/self-service/login/api`);
  const login = { method: "password", identifier, password: PASSWORD };
  const answer = await sendJson<{ session_token: string }>("POST", `${url}/self-service/login?flow=${flow.id}`, login);
  return answer.session_token;
}

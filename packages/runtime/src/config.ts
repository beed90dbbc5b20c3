import { readFileSync } from "node:fs";
import { unchanging, type Watched } from "@countersign/core";
import { z } from "zod";
import type { Files, ReadFile } from "./files.ts";

export type { Files, ReadFile, WatchedFile } from "./files.ts";

export type Env = Readonly<Record<string, string | undefined>>;

/** Thrown with a message that lists all settings that are wrong or missing, and never shows a value. */
export class ConfigError extends Error {
  constructor(problems: readonly string[]) {
    super(`wrong settings:\n${problems.map((problem) => `  ${problem}`).join("\n")}`);
    this.name = "ConfigError";
  }
}

/**
 * Reads the variables that `schema` names from `env`; an empty or blank variable counts as absent. With a
 * `prefix`, for example "AUTH_", a variable that has it and that the schema does not know stops the start.
 * A `…_DATABASE_URL` holds a password: `…_DATABASE_URL_FILE` names the file that holds it instead.
 * Errors: ConfigError with every problem. `<prefix>ADMIN_LISTEN` belongs to `runService` and is always known.
 */
export function loadEnv<S extends z.ZodObject>(schema: S, env: Env, { prefix }: { prefix?: string } = {}): z.output<S> {
  const known = Object.keys(schema.shape);
  const input: Record<string, string> = {};
  const problems: string[] = [];
  const files = known.filter((name) => name.endsWith("_DATABASE_URL")).map((name) => `${name}_FILE`);
  for (const name of known) {
    const value = env[name];
    if (value?.trim()) input[name] = value;
    const file = files.includes(`${name}_FILE`) ? env[`${name}_FILE`] : undefined;
    if (file === undefined || file === "") continue;
    if (input[name] !== undefined) problems.push(`${name}: is given twice, also by ${name}_FILE`);
    else input[name] = readSecretFile(file);
  }
  if (prefix !== undefined) {
    for (const name of Object.keys(env)) {
      if (!name.startsWith(prefix) || name === `${prefix}ADMIN_LISTEN` || known.includes(name) || files.includes(name))
        continue;
      problems.push(`${name}: no such setting`);
    }
  }
  const result = schema.safeParse(input);
  if (!result.success) {
    for (const { path, message } of result.error.issues) {
      const name = path.map(String).join(".");
      problems.push(input[name] === undefined ? `${name}: is missing` : `${name}: ${message}`);
    }
  }
  if (!result.success || problems.length > 0) throw new ConfigError(problems);
  return result.data;
}

/** "host:port"; port 0 lets the system choose. */
export const listenAddress = z.string().regex(/^(\[[0-9a-f:]+\]|[A-Za-z0-9._-]+):\d{1,5}$/, "must be host:port");

const ipAddress = String.raw`\d{1,3}(\.\d{1,3}){3}:\d{1,5}`;

/**
 * The address of a service to call: host:port, or several IP:port with commas, over which calls are spread.
 */
export const dialAddress = z.union([
  listenAddress,
  z.string().regex(new RegExp(`^${ipAddress}(,${ipAddress})+$`), "must be host:port, or several IP:port with commas"),
]);

/** Files of the process's CA, certificate and key: see loadTlsFromEnv. */
export const tlsEnv = z.object({ CS_TLS_CA: z.string(), CS_TLS_CERT: z.string(), CS_TLS_KEY: z.string() });

/** The variables that every service shares. Spread `sharedEnv.shape` into a service's own schema. */
export const sharedEnv = tlsEnv.extend({
  CS_PEERS_FILE: z.string().default("deploy/peers.json"),
  /**
   * Sends calls to other services together on streams (rpc.v1.Calls). "false" sends each alone, which is
   * slower and easier to observe on the wire.
   */
  CS_COALESCE_CALLS: z.enum(["true", "false"]).default("true"),
});

/** The variables that the services with a database share. */
export const serviceEnv = sharedEnv.extend({
  CS_NATS_URL: z.string(),
  /** `iss` of the access tokens that are accepted. */
  AUTH_ISSUER: z.url(),
});

type ServiceEnv<Name extends string> = z.output<typeof serviceEnv> &
  Readonly<Record<`${Name}_LISTEN` | `${Name}_DATABASE_URL`, string>>;

/**
 * Reads the variables of a service. `common`: the settings that every service has. Errors: ConfigError for
 * wrong, missing and unknown ones.
 */
export function loadServiceEnv<Name extends string, S extends z.ZodObject & z.ZodType<ServiceEnv<Name>>>(
  name: Name,
  schema: S,
  env: Env,
  files: Pick<Files, "watch">,
) {
  const settings = loadEnv(schema, env, { prefix: `${name}_` });
  const shared: ServiceEnv<Name> = settings;
  const common = {
    listen: shared[`${name}_LISTEN`],
    natsUrl: shared.CS_NATS_URL,
    issuer: shared.AUTH_ISSUER,
    peersFile: shared.CS_PEERS_FILE,
    tls: { ca: shared.CS_TLS_CA, cert: shared.CS_TLS_CERT, key: shared.CS_TLS_KEY },
    secrets: { databaseUrl: watchDatabaseUrl(`${name}_DATABASE_URL`, env, files) },
  };
  return { settings, common };
}

/**
 * Returns the setting `name`, a database's connection string; the one of the file that `<name>_FILE` names
 * may change, but not the database: half of the connections would be to another one. Errors: ConfigError.
 */
export function watchDatabaseUrl(name: string, env: Env, files: Pick<Files, "watch">): Watched<string> {
  const path = env[`${name}_FILE`];
  if (path === undefined || path === "") return unchanging(checkDatabaseUrl(name, env[name] ?? ""));
  let database: string | undefined;
  return files.watch("database-url", (read) => {
    const url = checkDatabaseUrl(`secret file ${path}`, readSecretFile(path, read));
    database ??= databaseOf(url);
    if (databaseOf(url) !== database) {
      throw new ConfigError([`secret file ${path}: names another database or other options, which needs a restart`]);
    }
    return url;
  });
}

/** Returns the parts of a connection string; with a user and no host it names a socket by `host=`. */
const partsOf = (url: string): URL | null => URL.parse(url.replace("@/", "@socket/"));

/** Returns a connection string. Errors: ConfigError; the driver would take any text for a name of a host. */
function checkDatabaseUrl(where: string, url: string): string {
  if (/^postgres(ql)?:/.test(url) && partsOf(url) !== null) return url;
  throw new ConfigError([`${where}: is not a postgresql:// URL`]);
}

/** Returns a connection string without the user, the password and the paths of certificates. */
function databaseOf(url: string): string {
  const { host, pathname, searchParams } = partsOf(url)!;
  for (const name of ["user", "password", "sslcert", "sslkey", "sslrootcert"]) searchParams.delete(name);
  searchParams.sort();
  return `${host}${pathname}?${searchParams}`;
}

/** Reads a secret from a file, without the line end. Errors: ConfigError if it is missing or empty. */
export function readSecretFile(path: string, read: ReadFile = readFileSync): string {
  let content: string;
  try {
    content = read(path).toString("utf8");
  } catch (error) {
    throw new ConfigError([`secret file ${path}: ${(error as NodeJS.ErrnoException).code ?? "cannot be read"}`]);
  }
  const secret = content.replace(/\r?\n$/, "");
  if (secret === "") throw new ConfigError([`secret file ${path}: is empty`]);
  return secret;
}

/** Reads and validates a JSON file. Errors: ConfigError that names the file and the places in it. */
export function readJsonFile<T>(path: string, schema: z.ZodType<T>, read: ReadFile = readFileSync): T {
  let json: unknown;
  try {
    json = JSON.parse(read(path).toString("utf8"));
  } catch (error) {
    throw new ConfigError([`${path}: ${(error as NodeJS.ErrnoException).code ?? "is not JSON"}`]);
  }
  const result = schema.safeParse(json);
  if (result.success) return result.data;
  throw new ConfigError(
    result.error.issues.map(({ path: at, message }) => [path, at.join("."), message].filter(Boolean).join(": ")),
  );
}

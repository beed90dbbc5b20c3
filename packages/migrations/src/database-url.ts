import { readFileSync } from "node:fs";
import { Failure } from "@countersign/build/fail.ts";
import type { ServiceName } from "@countersign/build/paths.ts";

/**
 * Returns a service's connection string for migrations: <SERVICE>_DATABASE_URL, or the content of the file
 * that <SERVICE>_DATABASE_URL_FILE names, as for the service itself; undefined where neither is set.
 */
export function databaseUrl(service: ServiceName, env: NodeJS.ProcessEnv): string | undefined {
  const name = `${service.toUpperCase()}_DATABASE_URL`;
  const { [name]: value, [`${name}_FILE`]: file } = env;
  if (value && file) throw new Failure(`${name} and ${name}_FILE are both set: set one of them.`);
  if (!file) return value || undefined;
  try {
    const url = readFileSync(file, "utf8").trim();
    if (url === "") throw new Error("it is empty");
    return url;
  } catch (error) {
    throw new Failure(`${name}_FILE=${file} cannot be read: ${(error as Error).message}`);
  }
}

/** Returns the services to migrate: those that are named, otherwise all that have a connection string. */
export function servicesToMigrate<Name extends ServiceName>(
  all: readonly Name[],
  named: readonly string[],
  env: NodeJS.ProcessEnv,
): { service: Name; url: string }[] {
  const unknown = named.filter((name) => !all.includes(name as Name));
  if (unknown.length > 0) throw new Failure(`no such service: ${unknown.join(", ")}. Services: ${all.join(", ")}.`);
  const found = all.flatMap((service) => {
    const url = databaseUrl(service, env);
    return url === undefined ? [] : [{ service, url }];
  });
  const wanted = named.length > 0 ? found.filter(({ service }) => named.includes(service)) : found;
  const missing = named.filter((name) => !wanted.some(({ service }) => service === name));
  if (missing.length > 0 || wanted.length === 0) {
    const names = (missing.length > 0 ? missing : all).map((name) => `${name.toUpperCase()}_DATABASE_URL`);
    throw new Failure(`set ${names.join(", ")}, or the same with _FILE, to connection strings of the migrating role.`);
  }
  return wanted;
}

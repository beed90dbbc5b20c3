import { join } from "node:path";
import { Failure } from "@countersign/build/fail.ts";

/** Returns a variable that a step of docker-compose.yml or deploy/trial must be given. */
export function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new Failure(`${name} is missing: docker-compose.yml and deploy/trial/trial.yaml set it.`);
  return value;
}

/** Returns a variable with host:port. */
export function requiredAddress(name: string): { host: string; port: number } {
  const [, host, port] = /^(.+):(\d+)$/.exec(required(name)) ?? [];
  if (!host) throw new Failure(`${name} is not host:port.`);
  return { host, port: Number(port) };
}

/** Returns the path of a process's own files: each has a volume of its own below one directory. */
export const processPath = (name: string, file = ""): string => join(required("CS_STATE_DIR"), name, file);

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { parse } from "yaml";

export type Condition = "service_started" | "service_healthy" | "service_completed_successfully";

/** The fields of a service in docker-compose.yml that are used here. */
export interface ComposeService {
  image: string;
  build?: { context: string; dockerfile: string; target: string };
  command: string[];
  user?: string;
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  network_mode?: string;
  networks?: string[] | Record<string, { aliases?: string[] }>;
  ports?: string[];
  environment?: Record<string, string>;
  /** `<volume>:<path>[:ro]`. */
  volumes?: string[];
  depends_on?: Record<string, { condition: Condition }>;
  healthcheck?: { test: string[] };
  restart?: string;
}

export interface ComposeFile {
  services: Record<string, ComposeService>;
  networks: Record<string, unknown>;
  volumes: Record<string, unknown>;
}

/**
 * Returns docker-compose.yml as Compose reads it where no variable is set: anchors and merge keys resolved,
 * and `${NAME:-default}` replaced.
 */
export function readComposeFile(): ComposeFile {
  const text = readFileSync(join(root, "docker-compose.yml"), "utf8").replaceAll(/\$\{\w+:-([^}]*)\}/g, "$1");
  return parse(text, { merge: true, maxAliasCount: -1 }) as ComposeFile;
}

/** Returns the services in an order in which each comes after those that it depends on. */
export function startOrder(services: Record<string, ComposeService>): string[] {
  const order: string[] = [];
  const visit = (name: string, path: string[]): void => {
    if (path.includes(name)) throw new Error(`services wait for each other: ${[...path, name].join(" → ")}`);
    if (order.includes(name)) return;
    for (const needed of Object.keys(services[name]?.depends_on ?? {})) visit(needed, [...path, name]);
    order.push(name);
  };
  for (const name of Object.keys(services)) visit(name, []);
  return order;
}

/** Names by which a container is found in the network `inside`, its service's own included. */
export const namesOf = (name: string, { networks }: ComposeService): string[] => [
  name,
  ...(networks && !Array.isArray(networks) ? Object.values(networks).flatMap((each) => each.aliases ?? []) : []),
];

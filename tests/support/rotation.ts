import { randomBytes } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { root, services } from "@countersign/build/paths.ts";
import {
  certificateNames,
  makeAuthority,
  makeLeaf,
  readAuthority,
  tlsFiles,
} from "@countersign/local-stack/certificates.ts";
import { databaseUrlFile, stateFiles } from "@countersign/local-stack/service-environment.ts";
import type { Stack } from "@countersign/local-stack/stack-file.ts";
import pg from "pg";
import { expect } from "vitest";
import type { FaultStack } from "../faults/fault-stack.ts";
import { readMetrics } from "./metrics.ts";

const peersFile = (stateDir: string) => join(stateDir, "peers.json");

/** Prepares a state directory: everything that can change is in a file of its own. */
export function prepareRotation(stateDir: string) {
  writeFileSync(peersFile(stateDir), readFileSync(join(root, "deploy/peers.json")));
  return { databaseUrlFiles: true, settings: { CS_PEERS_FILE: peersFile(stateDir) } };
}

const replace = (file: string, content: string): void => {
  writeFileSync(`${file}.new`, content, { mode: 0o600 });
  renameSync(`${file}.new`, file);
};
const changeJson = (file: string, change: (content: never) => void): void => {
  const content = JSON.parse(readFileSync(file, "utf8"));
  change(content as never);
  replace(file, JSON.stringify(content));
};

/** Returns how often each process has taken a changed file, and how often it has refused one. */
async function changesOf(stack: Stack, file: string): Promise<Record<string, { loaded: number; refused: number }>> {
  const found = Object.entries(stack.processes).flatMap(([name, { metrics }]) => (metrics ? [{ name, metrics }] : []));
  const counted = found.map(async ({ name, metrics }) => {
    const families = await readMetrics(metrics);
    const of = (family: string) => (families.get(family)?.series ?? []).filter(({ labels }) => labels.file === file);
    const count = (outcome: string) =>
      of("countersign_file_changes_total").find(({ labels }) => labels.outcome === outcome)?.value ?? 0;
    const isWatched = of("countersign_file_loaded_timestamp_seconds").length > 0;
    return [name, isWatched && { loaded: count("loaded"), refused: count("refused") }] as const;
  });
  return Object.fromEntries((await Promise.all(counted)).flatMap(([name, counts]) => (counts ? [[name, counts]] : [])));
}

/** Changes a file and waits until every process that watches it has taken it. Returns the milliseconds. */
async function changed(stack: Stack, file: string, change: () => unknown): Promise<number> {
  const before = await changesOf(stack, file);
  expect(Object.keys(before).length, `processes that watch ${file}`).toBeGreaterThan(0);
  const began = performance.now();
  await change();
  await expect
    .poll(
      async () => {
        const now = await changesOf(stack, file);
        return Object.keys(before).filter((name) => now[name]!.loaded <= before[name]!.loaded);
      },
      { timeout: 20_000, interval: 200, message: `processes that have not taken the changed ${file}` },
    )
    .toEqual([]);
  return performance.now() - began;
}

/** Issues certificates of short life from CAs that change. */
export function certificateRotation({ stack }: FaultStack, lifeMs: number) {
  const { stateDir } = stack;
  const { ca } = tlsFiles(stateDir, "ca");
  const reloadNats = () => process.kill(stack.processes.nats!.pid, "SIGHUP");
  let authorities = [{ cert: readFileSync(ca, "utf8"), key: join(stateDir, "tls", "ca.key"), file: ca }];
  let count = 0;
  const bundle = () => replace(ca, authorities.map(({ cert }) => cert.trim()).join("\n"));
  return {
    /** Trusts another CA as well. */
    async addAuthority(): Promise<void> {
      count += 1;
      const [file, key] = [join(stateDir, "tls", `ca-${count}.pem`), join(stateDir, "tls", `ca-${count}.key`)];
      await makeAuthority(file, key);
      authorities = [...authorities, { cert: readFileSync(file, "utf8"), key, file }];
      await changed(stack, "tls", bundle);
      reloadNats();
    },
    /** Issues everybody's certificate by the newest CA. */
    async issue(): Promise<void> {
      const { file, key } = authorities.at(-1)!;
      const authority = await readAuthority(file, key);
      await changed(stack, "tls", async () => {
        for (const name of certificateNames) {
          // The operator's is the tests' own, which reads it when it needs it.
          await makeLeaf(name, tlsFiles(stateDir, name), authority, name === "operator" ? undefined : lifeMs);
        }
      });
      reloadNats();
    },
    /** Trusts the newest CA alone. */
    async removeAuthorities(): Promise<void> {
      authorities = authorities.slice(-1);
      await changed(stack, "tls", bundle);
      reloadNats();
    },
  };
}

/** Sets other passwords of all services' roles, and then changes the files. */
export async function rotatePasswords({ stack }: FaultStack): Promise<void> {
  const { stateDir, databases } = stack;
  const admin = new pg.Client({ connectionString: stack.postgres });
  await admin.connect();
  try {
    await changed(stack, "database-url", async () => {
      for (const service of services) {
        const url = new URL(databases[service]!);
        url.password = randomBytes(20).toString("hex");
        await admin.query(`ALTER ROLE ${url.username} PASSWORD '${url.password}'`);
        // The file of a mounted secret comes later.
        await sleep(300);
        replace(databaseUrlFile(stateDir, service), url.href);
        databases[service] = url.href;
      }
    });
  } finally {
    await admin.end();
  }
}

/** Adds a key to the keyring, as its first. Returns how to remove the others. */
export async function rotateKeyring({ stack }: FaultStack): Promise<() => Promise<number>> {
  const file = stateFiles(stack.stateDir).tokenKeyEncryptionKey;
  const before = readFileSync(file, "utf8").trim();
  const next = randomBytes(32).toString("hex");
  await changed(stack, "token-key-encryption-keys", () => replace(file, `${next}\n${before}\n`));
  return () => changed(stack, "token-key-encryption-keys", () => replace(file, `${next}\n`));
}

/** Returns how many token keys are not under the first key of the keyring, as each auth process counts. */
export async function keysUnderOldKey({ stack }: FaultStack): Promise<number[]> {
  const processes = Object.entries(stack.processes).filter(([name]) => /^auth(-\d+)?$/.test(name));
  return Promise.all(
    processes.map(async ([, { metrics }]) => {
      const { series = [] } = (await readMetrics(metrics!)).get("countersign_auth_encrypted_token_keys") ?? {};
      return series.find(({ labels }) => labels.encrypted_by === "other")?.value ?? Number.NaN;
    }),
  );
}

/** Adds an identity provider. */
export const rotateProviders = ({ stack }: FaultStack, name: string) =>
  changed(stack, "providers", () =>
    changeJson(stateFiles(stack.stateDir).providers, ({ providers }: { providers: { name: string }[] }) => {
      providers.push({ ...providers[0]!, name, issuer: `https://${name}.example` } as never);
    }),
  );

/** Where clients find a transaction after `rotateNetworks`. */
export const CHANGED_EXPLORER = "https://explorer.example/{id}";

/** Changes where clients find a transaction. */
export const rotateNetworks = ({ stack }: FaultStack) =>
  changed(stack, "networks", () =>
    changeJson(stack.networksFile, ({ networks }: { networks: { explorerTransactionUrl: string }[] }) => {
      for (const network of networks) network.explorerTransactionUrl = CHANGED_EXPLORER;
    }),
  );

/** Removes a backend's rights, or gives them back. */
export const rotatePeers = ({ stack }: FaultStack, backend: "with" | "without") =>
  changed(stack, "peers", () => {
    const shipped = readFileSync(join(root, "deploy/peers.json"), "utf8");
    const table = JSON.parse(shipped) as {
      peers: string[];
      backends: object;
      rpcs: Record<string, { callers: string[] }>;
    };
    if (backend === "without") {
      table.backends = {};
      table.peers = table.peers.filter((name) => name !== "demo-backend");
      for (const rule of Object.values(table.rpcs)) {
        rule.callers = rule.callers.filter((name) => name !== "demo-backend");
        if (rule.callers.length === 0) rule.callers = ["operator"];
      }
    }
    replace(peersFile(stack.stateDir), JSON.stringify(table));
  });

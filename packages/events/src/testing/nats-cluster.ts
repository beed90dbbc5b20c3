import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TlsMaterial } from "@countersign/core";
import { ensureCertificates, readTls, tlsFiles } from "@countersign/local-stack/certificates.ts";
import type { Child } from "@countersign/local-stack/child.ts";
import { startNatsServer } from "@countersign/local-stack/nats.ts";
import { freePort } from "@countersign/local-stack/ports.ts";
import { ensureTools } from "@countersign/local-stack/tools.ts";

/** Starts three real nats-servers that form a cluster, for one test file. */
export async function beginNatsCluster(partitions = 1) {
  const stateDir = mkdtempSync(join(tmpdir(), "countersign-nats-cluster-"));
  await ensureCertificates(stateDir);
  const { natsServer: binary } = await ensureTools(console.log);
  const names = ["nats-0", "nats-1", "nats-2"];
  const ports = await Promise.all(names.map(() => freePort()));
  const monitorPorts = await Promise.all(names.map(() => freePort()));
  const routePorts = await Promise.all(names.map(() => freePort()));
  const servers = new Map<string, Child>();

  /** Starts a server that joins the cluster with a password. */
  const joinCluster = async (name: string, port: number, routePort: number, password: string): Promise<Child> => {
    const settings = {
      NATS_MONITOR: `127.0.0.1:${monitorPorts[names.indexOf(name)] ?? -1}`,
      NATS_CLUSTER_LISTEN: `127.0.0.1:${routePort}`,
      NATS_CLUSTER_ROUTES: `[${routePorts.map((each) => `"tls://route:${password}@127.0.0.1:${each}"`).join(",")}]`,
      NATS_CLUSTER_PASSWORD: `"${password}"`,
    };
    const logFile = join(stateDir, `${name}.log`);
    return startNatsServer({ binary, stateDir, port, logFile, name, config: "cluster.conf", settings, partitions });
  };
  const start = async (name: string): Promise<void> => {
    const at = names.indexOf(name);
    servers.set(name, await joinCluster(name, ports[at]!, routePorts[at]!, "of-the-cluster"));
  };
  await Promise.all(names.map(start));
  return {
    stateDir,
    url: ports.map((port) => `tls://127.0.0.1:${port}`).join(","),
    monitorUrls: monitorPorts.map((port) => `http://127.0.0.1:${port}`),
    tlsOf: (name: string): TlsMaterial => readTls(tlsFiles(stateDir, name)),
    start,
    /** Kills a server without a warning. */
    kill: (name: string) => servers.get(name)!.kill(),
    /** Starts another server, with a certificate of the same CA. Returns its URL and its log. */
    async startIntruder(password: string) {
      const port = await freePort();
      servers.set("intruder", await joinCluster("intruder", port, await freePort(), password));
      const log = () => readFileSync(join(stateDir, "intruder.log"), "utf8");
      return { url: `tls://127.0.0.1:${port}`, log };
    },
    async end(): Promise<void> {
      await Promise.all([...servers.values()].map((server) => server.stop()));
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
}
export type NatsCluster = Awaited<ReturnType<typeof beginNatsCluster>>;

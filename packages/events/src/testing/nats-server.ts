import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TlsMaterial } from "@countersign/core";
import { ensureCertificates, tlsFiles } from "@countersign/local-stack/certificates.ts";
import type { Child, StartChild } from "@countersign/local-stack/child.ts";
import { startNats } from "@countersign/local-stack/nats.ts";
import { freePort } from "@countersign/local-stack/ports.ts";
import { ensureTools } from "@countersign/local-stack/tools.ts";
import { createLogger, loadTls } from "@countersign/runtime";
import { type ConnectionOptions, connect, type NatsConnection } from "nats";
import { linkNats, type NatsLink } from "../nats.ts";

/** Options of a connection that comes back after a restart of the server. */
export const LASTING: ConnectionOptions = { maxReconnectAttempts: -1, reconnectTimeWait: 200 };

/**
 * Starts a real nats-server for one test file, set up by the operator, with certificates for every service.
 * `startChild` may change its configuration before it starts.
 */
export async function beginNats({ startChild, partitions = 1 }: { startChild?: StartChild; partitions?: number } = {}) {
  const stateDir = mkdtempSync(join(tmpdir(), "countersign-nats-"));
  await ensureCertificates(stateDir);
  const { natsServer: binary } = await ensureTools(console.log);
  const port = await freePort();
  const url = `tls://127.0.0.1:${port}`;
  const opened: NatsConnection[] = [];
  let child: Child;
  const tlsOf = (name: string): TlsMaterial => loadTls(tlsFiles(stateDir, name));
  const start = async (): Promise<void> => {
    const logFile = join(stateDir, "nats.log");
    child = await startNats({ binary, stateDir, port, logFile, partitions, ...(startChild && { start: startChild }) });
  };
  await start();
  return {
    stateDir,
    port,
    url,
    tlsOf,
    /** Connects with the certificate of a service or the operator. */
    async connectAs(name: string, options: ConnectionOptions = {}): Promise<NatsConnection> {
      const { ca, cert, key } = tlsOf(name);
      const tls = { ca: ca.toString(), cert: cert.toString(), key: key.toString() };
      const connection = await connect({ servers: url, tls, ...options });
      opened.push(connection);
      return connection;
    },
    /** Links with the certificate of a service, as its process does; the caller closes it. */
    linkAs(name: string, natsUrl = url): NatsLink {
      const logger = createLogger({ name: "test", level: process.env.CS_LOG_LEVEL ?? "silent" });
      return linkNats({ natsUrl, tls: tlsOf(name), name, logger });
    },
    start,
    stop: () => child.stop(),
    pid: () => child.pid,
    /** Closes its connections, stops it and removes its state. */
    async end(): Promise<void> {
      await Promise.all(opened.map((connection) => connection.close()));
      await child.stop();
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
}
export type TestNats = Awaited<ReturnType<typeof beginNats>>;

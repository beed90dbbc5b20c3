import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { loadTls, uuidv4 } from "@countersign/service-kit";
import { connect, type JetStreamManager, type NatsConnection } from "nats";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ensureCertificates, tlsFiles } from "../../../dev/src/certificates.ts";
import { type Child, startChild } from "../../../dev/src/child.ts";
import { startNats } from "../../../dev/src/nats.ts";
import { cacheDir } from "../../../dev/src/paths.ts";
import { freePort } from "../../../dev/src/ports.ts";
import { API_PREFIX } from "./consumers.ts";
import { EVENTS_STREAM } from "./index.ts";

/** What docs/transport.md says of a service that fills the stream: everybody waits, the operator purges that service's subjects, nothing of the others is lost. */
const binary = process.env.CS_NATS_SERVER ?? join(cacheDir(), "bin/nats-server-v2.15.2");
const account = "019a0000-0000-7000-8000-000000000001";
const alerts = "auth-chain-alerts";
const MAX_FILE = 8 * 1024 * 1024;

let stateDir: string;
let port: number;
let nats: Child;
let operator: NatsConnection;
let manager: JetStreamManager;
const opened: NatsConnection[] = [];

async function as(service: string): Promise<NatsConnection> {
  const { ca, cert, key } = loadTls(tlsFiles(stateDir, service));
  const connection = await connect({
    servers: `tls://127.0.0.1:${port}`,
    tls: { ca: ca.toString(), cert: cert.toString(), key: key.toString() },
  });
  opened.push(connection);
  return connection;
}

describe.skipIf(!existsSync(binary))("a full stream", () => {
  beforeAll(async () => {
    stateDir = mkdtempSync(join(tmpdir(), "countersign-full-"));
    await ensureCertificates(stateDir);
    port = await freePort();
    nats = await startNats({
      binary,
      stateDir,
      port,
      logFile: join(stateDir, "nats.log"),
      start: (child) => {
        const path = join(stateDir, "nats.conf");
        const config = readFileSync(path, "utf8");
        writeFileSync(path, config.replace(/"max_file":\d+/, `"max_file":${MAX_FILE}`));
        return startChild(child);
      },
    });
    operator = await as("operator");
    manager = await operator.jetstreamManager();
  });

  afterAll(async () => {
    await Promise.all(opened.map((connection) => connection.close()));
    await nats?.stop();
    rmSync(stateDir, { recursive: true, force: true });
  });

  it("refuses what is new, gives out and keeps what it has, and takes again once the thief's subjects are purged", {
    timeout: 60_000,
  }, async () => {
    const teller = (await as("account")).jetstream();
    const alert = () =>
      teller.publish(
        `cs.v1.account.${account}.chain-alert`,
        Event.encode(Event.fromPartial({ id: uuidv4(), accountId: account })).finish(),
      );
    await alert();
    await alert();
    const thief = (await as("key")).jetstream();
    const fill = async () => {
      for (;;) await thief.publish(`cs.v1.key.${uuidv4()}.junk`, new Uint8Array(900_000));
    };
    await expect(fill()).rejects.toThrow();
    await expect(alert()).rejects.toThrow();

    expect(readFileSync(join(stateDir, "nats.log"), "utf8")).toContain("JetStream file resource limits exceeded");
    const { state } = await manager.streams.info(EVENTS_STREAM);
    expect(state.bytes).toBeGreaterThan(MAX_FILE * 0.8);
    expect(state.first_seq).toBe(1);
    const mine = await (await as("auth")).jetstream({ apiPrefix: API_PREFIX }).consumers.get(EVENTS_STREAM, alerts);
    for (const sequence of [1, 2]) {
      const message = await mine.next({ expires: 2_000 });
      expect(message?.seq).toBe(sequence);
      message?.ack();
    }
    const left = async () => {
      const { num_pending, num_ack_pending } = await manager.consumers.info(EVENTS_STREAM, alerts);
      return num_pending + num_ack_pending;
    };
    await expect.poll(left, { timeout: 10_000 }).toBe(0);

    await manager.streams.purge(EVENTS_STREAM, { filter: "cs.v1.key.>" });
    await expect
      .poll(
        () =>
          alert().then(
            () => true,
            () => false,
          ),
        { timeout: 20_000 },
      )
      .toBe(true);
    const { state: purged } = await manager.streams.info(EVENTS_STREAM, { subjects_filter: "cs.v1.account.>" });
    expect(Object.values(purged.subjects ?? {})).toEqual([3]);
  });
});

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { watchTokenState } from "@countersign/access-tokens";
import { uuidv4 } from "@countersign/core";
import { ensureCertificates, tlsFiles } from "@countersign/local-stack/certificates.ts";
import { TokenStateService } from "@countersign/proto/auth/v1/token_state.ts";
import { createRpcClient, createRpcServer, publicKeyFromProto } from "@countersign/rpc";
import { createLogger, createMetrics, loadPeers, loadTls } from "@countersign/runtime";
import { expect, it } from "vitest";
import { tokenStateHandlers } from "../rpc/token-state.ts";
import { postgresTokenStateStore } from "../store/postgres-token-state-store.ts";
import { writeTokenState } from "../store/write-token-state.ts";
import { clock, postgres, prisma } from "../testing/store-fixture.ts";
import { createTokenStateFeed } from "./token-state-feed.ts";

const ENTRIES = 200_000;
const BLOCKED_KEYS = 40_000;
const BLOCKED = { algorithm: "ES256", publicKey: "ab".repeat(64) } as const;
const idOf = (i: number) => `00000000-0000-7000-8000-${String(i).padStart(12, "0")}`;

it("200,000 entries reach services over gRPC in messages of at most 1 MiB, and later changes follow", {
  timeout: 60_000,
}, async () => {
  const logger = createLogger({ name: "test", level: "silent" });
  const stateDir = await mkdtemp(join(tmpdir(), "countersign-token-state-"));
  await ensureCertificates(stateDir);
  // All written by one transaction; blocked keys are the largest entries.
  await prisma.$executeRaw`
    INSERT INTO token_state_entry (bucket, position, kind, subject, active, until)
    SELECT i % 256, 1, CASE WHEN i <= ${BLOCKED_KEYS}::int THEN 'key' ELSE 'session' END,
      '00000000-0000-7000-8000-' || lpad(i::text, 12, '0')
        || CASE WHEN i <= ${BLOCKED_KEYS}::int THEN '/ES256/' || ${BLOCKED.publicKey} ELSE '' END,
      true, NULL
    FROM generate_series(1, ${ENTRIES}::int) AS i`;
  const stop = new AbortController();
  const feed = createTokenStateFeed({
    store: postgresTokenStateStore(postgres),
    keys: { published: async () => [] },
    clock,
    logger,
  });
  const reading = feed.run(stop.signal);
  const server = createRpcServer({
    tls: loadTls(tlsFiles(stateDir, "auth")),
    peers: loadPeers(join(import.meta.dirname, "../../../../deploy/peers.json")),
    logger,
    metrics: createMetrics("auth", { defaults: false }),
  }).add(
    TokenStateService,
    tokenStateHandlers(feed, async () => [BLOCKED], stop.signal),
  );
  const { port } = await server.listen("127.0.0.1:0");
  const services = ["signer", "account"].map((name) => {
    const client = createRpcClient(TokenStateService, {
      address: `127.0.0.1:${port}`,
      tls: loadTls(tlsFiles(stateDir, name)),
      serverName: "auth",
      deadlineMs: 5000,
    });
    return { client, state: watchTokenState(client, { logger, clock }) };
  });
  try {
    for (const { state } of services) {
      await expect.poll(() => state.current(), { timeout: 30_000 }).toBe(true);
      for (const i of [1, BLOCKED_KEYS]) expect(state.isKeyBlocked(idOf(i), BLOCKED)).toBe(true);
      for (const i of [BLOCKED_KEYS + 1, ENTRIES]) expect(state.isSessionEnded(idOf(i))).toBe(true);
      expect(state.isSessionEnded(idOf(ENTRIES + 1))).toBe(false);
    }
    const [signer, account] = services.map(({ client }) => client);
    const { publicKeys } = await signer!.listBlockedKeys({ accountId: idOf(1) });
    expect(publicKeys.map((key) => publicKeyFromProto(key))).toEqual([BLOCKED]);
    const refused = account!.listBlockedKeys({ accountId: idOf(1) });
    await expect(refused).rejects.toMatchObject({ reason: "CallerNotAllowed" });
    const sessionId = uuidv4();
    const entry = { kind: "session", accountId: uuidv4(), subject: sessionId } as const;
    await postgres.transaction((tx) => writeTokenState(tx, [entry]));
    await expect.poll(() => services.every(({ state }) => state.isSessionEnded(sessionId))).toBe(true);
  } finally {
    stop.abort();
    for (const { client, state } of services) {
      state.close();
      client.close();
    }
    await server.stop(100);
    await reading;
    await rm(stateDir, { recursive: true });
  }
});

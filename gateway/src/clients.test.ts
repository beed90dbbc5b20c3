import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureCertificates, tlsFiles } from "@countersign/local-stack/certificates.ts";
import { startTcpProxy } from "@countersign/local-stack/testing/tcp-proxy.ts";
import { AccountEventsService, WatchResponse } from "@countersign/proto/device/v1/account_events.ts";
import { createRpcServer, peersFile } from "@countersign/rpc";
import { createLogger, createMetrics, loadTls } from "@countersign/runtime";
import { expect, it, vi } from "vitest";
import { createClients } from "./clients.ts";

const watched = <T>(value: T) => ({ current: () => value, onChange: () => () => undefined });

it("a stream of events ends soon after its server is gone without a word", async () => {
  const stateDir = mkdtempSync(join(tmpdir(), "countersign-clients-"));
  await ensureCertificates(stateDir);
  const peers = peersFile.parse({
    rpcs: { "device.v1.AccountEvents/Watch": { callers: ["gateway"], token: "service" } },
  });
  const metrics = createMetrics("test", { defaults: false });
  const logger = createLogger({ name: "device", level: "silent" });
  const server = createRpcServer({
    tls: loadTls(tlsFiles(stateDir, "device")),
    peers,
    metrics,
    logger,
  });
  server.add(AccountEventsService, {
    async *watch(_request, call) {
      yield WatchResponse.create({ id: "1" });
      await new Promise((resolve) => call.signal.addEventListener("abort", resolve));
    },
  });
  const { port } = await server.listen("127.0.0.1:0");
  const proxy = await startTcpProxy(`127.0.0.1:${port}`);
  const nowhere = "127.0.0.1:1";
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const clients = createClients(
    {
      addresses: { auth: nowhere, device: proxy.address, key: nowhere, account: nowhere, signer: nowhere },
      tls: watched(loadTls(tlsFiles(stateDir, "gateway"))),
      coalesceCalls: true,
    } as unknown as Parameters<typeof createClients>[0],
    metrics,
  );
  try {
    const events = clients.accountEvents.watch({ lastEventId: "" }, {})[Symbol.asyncIterator]();
    expect((await events.next()).value).toMatchObject({ id: "1" });
    proxy.mute();
    let error: unknown;
    const ended = events.next().catch((thrown: unknown) => {
      error = thrown;
    });
    await vi.advanceTimersByTimeAsync(20_000);
    expect(error).toBeUndefined();
    await vi.advanceTimersByTimeAsync(5_000);
    await ended;
    expect(error).toMatchObject({ reason: "Unavailable" });
  } finally {
    vi.useRealTimers();
    clients.close();
    await proxy.close();
    await server.stop(0);
    rmSync(stateDir, { recursive: true, force: true });
  }
});

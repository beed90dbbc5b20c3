import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { connect as connectTcp } from "node:net";
import { connect as connectTls } from "node:tls";
import type { TlsMaterial } from "@countersign/core";
import { AccountsService, GetAccountResponse } from "@countersign/proto/account/v1/accounts.ts";
import { AccountEventsService } from "@countersign/proto/device/v1/account_events.ts";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createRpcChannel, type RpcChannel } from "./client.ts";
import { type Peers, type PeersFile, peersFile } from "./peers.ts";
import { type Authority, createAuthority } from "./testing/authority.ts";
import { type TestServer, testServer } from "./testing/harness.ts";
import { settable } from "./testing/settable.ts";

const row = (...callers: string[]) => ({ callers, token: "service" as const });
const table = (...callers: string[]): PeersFile["rpcs"] => ({
  "account.v1.Accounts/DeployAccount": row(...callers),
  "account.v1.Accounts/CancelDeployment": row(...callers),
  "account.v1.Accounts/GetAccount": row(...callers),
  "account.v1.Accounts/GetMe": row(...callers),
  "account.v1.Accounts/LinkParent": row(...callers),
  "device.v1.AccountEvents/Watch": row(...callers),
  "rpc.v1.Calls/Stream": row(...callers),
});
const request = { accountId: "a", chainName: "c" };
const both = (...authorities: Authority[]) => Buffer.from(authorities.map((each) => each.certificate).join("\n"));

let ours: Authority;
let peers: ReturnType<typeof settable<Peers>>;
let serverTls: ReturnType<typeof settable<TlsMaterial>>;
let running: TestServer;
let address: string;
let closing: (() => unknown)[];

const MOVE_MS = 300;

const answer = async () => {
  await new Promise((resolve) => setTimeout(resolve, 5));
  return GetAccountResponse.create() as never;
};

beforeEach(async () => {
  closing = [];
  ours = await createAuthority("Old");
  await start();
});
async function start(moveMs?: number): Promise<void> {
  peers = settable(peersFile.parse({ rpcs: table("gateway", "auth") }));
  serverTls = settable(await ours.issue("account"));
  running = testServer(serverTls, table("gateway"), { peers, ...(moveMs && { moveMs }) });
  running.server
    .add(AccountsService, {
      deployAccount: answer,
      cancelDeployment: answer,
      getAccount: answer,
      getMe: answer,
      linkParent: answer,
    })
    .add(AccountEventsService, {
      async *watch(_request, call) {
        for (let id = 0; !call.signal.aborted; id += 1) {
          yield { id: String(id), type: "t", dataJson: "", occurredAt: new Date(0) };
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      },
    });
  address = await running.listen();
  closing.push(running.server.stop.bind(undefined, 50));
}
afterEach(async () => {
  for (const close of closing.reverse()) await close();
});

function channelOf(tls: TlsMaterial | ReturnType<typeof settable<TlsMaterial>>, coalesce = true): RpcChannel {
  const channel = createRpcChannel({ address, tls, serverName: "account", deadlineMs: 2_000, coalesce });
  closing.push(() => channel.close());
  return channel;
}

/** Calls without a pause until it is ended; returns what failed. */
function load(channel: RpcChannel) {
  const accounts = channel.client(AccountsService);
  const failures: unknown[] = [];
  let calls = 0;
  let ended = false;
  const call = async () => {
    while (!ended) {
      await accounts.getAccount(request).catch((error: unknown) => failures.push(error));
      calls += 1;
    }
  };
  const work = Promise.all(Array.from({ length: 5 }, call));
  return {
    calls: () => calls,
    async end() {
      ended = true;
      await work;
      return failures;
    },
  };
}

/** Reads a stream until it ends; resolves with the error. */
async function untilEnd(channel: RpcChannel, onFirst: () => void = () => undefined): Promise<unknown> {
  try {
    for await (const { id } of channel.client(AccountEventsService).watch({ lastEventId: "" }))
      if (id === "0") onFirst();
    return undefined;
  } catch (error) {
    return error;
  }
}
const opened = (channel: RpcChannel) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { ended: untilEnd(channel, resolve), first: promise };
};

describe("certificates", () => {
  test.each([
    ["together on a stream", true, undefined],
    // A shared stream stays for ten seconds, longer than this.
    ["each alone, beyond the end of old connections", false, MOVE_MS],
  ])("no call fails while the CA and all certificates are replaced; calls %s", async (_, coalesce, moveMs) => {
    await start(moveMs);
    const next = await createAuthority("New");
    const clientTls = settable(await ours.issue("gateway"));
    const channel = channelOf(clientTls, coalesce);
    const calling = load(channel);
    const settle = async () => {
      const enough = calling.calls() + 50;
      await vi.waitFor(() => expect(calling.calls()).toBeGreaterThan(enough), 5_000);
    };
    await settle();
    const bundle = both(ours, next);
    serverTls.set({ ...serverTls.current(), ca: bundle });
    clientTls.set({ ...clientTls.current(), ca: bundle });
    await settle();
    serverTls.set({ ...(await next.issue("account")), ca: bundle });
    await settle();
    clientTls.set({ ...(await next.issue("gateway")), ca: bundle });
    await settle();
    serverTls.set({ ...serverTls.current(), ca: next.certificate });
    clientTls.set({ ...clientTls.current(), ca: next.certificate });
    await new Promise((resolve) => setTimeout(resolve, 3 * MOVE_MS));
    await settle();
    expect(await calling.end()).toEqual([]);
  });

  test("a removed CA verifies no new connection, and connections that it verified end", {
    timeout: 15_000,
  }, async () => {
    await start(MOVE_MS);
    const next = await createAuthority("New");
    serverTls.set({ ...(await ours.issue("account")), ca: both(ours, next) });
    const old = channelOf(await ours.issue("gateway"));
    const { ended, first } = opened(old);
    await first;
    serverTls.set({ ...serverTls.current(), ca: next.certificate });
    const refused = channelOf(await ours.issue("gateway"))
      .client(AccountsService)
      .getAccount(request);
    await expect(refused).rejects.toMatchObject({ reason: "Unavailable" });
    expect(await ended).toBeDefined();
    await expect(old.client(AccountsService).getAccount(request)).rejects.toMatchObject({ reason: "Unavailable" });
    await channelOf({ ...(await next.issue("auth")), ca: both(ours, next) })
      .client(AccountsService)
      .getAccount(request);
  });

  test("a handshake that began before a CA was removed, and ends after it, opens no connection for long", async () => {
    await start(MOVE_MS);
    const next = await createAuthority("New");
    serverTls.set({ ...(await ours.issue("account")), ca: both(ours, next) });
    const { cert, key, ca } = await ours.issue("gateway");
    const [host, port] = address.split(":");
    const tcp = connectTcp(Number(port), host);
    await once(tcp, "connect");
    // The server has begun to wait for the handshake with the certificates of now.
    await new Promise((resolve) => setTimeout(resolve, 50));
    serverTls.set({ ...serverTls.current(), ca: next.certificate });
    const secure = connectTls({
      socket: tcp,
      cert,
      key,
      ca,
      servername: "account.countersign.internal",
      ALPNProtocols: ["h2"],
    });
    secure.on("error", () => undefined).resume();
    const closedAfter = new Promise<number>((resolve) => {
      const began = performance.now();
      secure.once("close", () => resolve(performance.now() - began));
    });
    expect(await closedAfter).toBeLessThan(3 * MOVE_MS);
  });

  test.each([
    ["on a stream", true],
    ["alone", false],
  ])("no call fails after the end of a certificate that was replaced before; calls %s", async (_, coalesce) => {
    const clientTls = settable(await ours.issue("gateway", { lifeMs: 2_500 }));
    const expired = new Promise((resolve) => setTimeout(resolve, 3_500));
    const calling = load(channelOf(clientTls, coalesce));
    await vi.waitFor(() => expect(calling.calls()).toBeGreaterThan(50), 2_000);
    clientTls.set(await ours.issue("gateway"));
    await expired;
    expect(await calling.end()).toEqual([]);
  });

  test("a caller whose certificate has expired is refused, also on the connection that it has", async () => {
    const channel = channelOf(await ours.issue("gateway", { lifeMs: 2_500 }));
    const { ended, first } = opened(channel);
    await first;
    await channel.client(AccountsService).getAccount(request);
    const began = Date.now();
    expect(await ended).toMatchObject({ reason: "CallerNotAllowed" });
    expect(Date.now() - began).toBeLessThan(4_500);
    await expect(channel.client(AccountsService).getAccount(request)).rejects.toMatchObject({
      reason: "CallerNotAllowed",
    });
  });
});

describe("the caller table", () => {
  const fingerprint = ({ cert }: TlsMaterial) => new X509Certificate(cert).fingerprint256;
  test.each([
    ["removed caller", () => peersFile.parse({ rpcs: table("auth") })],
    [
      "revoked certificate",
      (tls: TlsMaterial) => peersFile.parse({ revoked: [fingerprint(tls)], rpcs: table("gateway", "auth") }),
    ],
  ])("a %s is refused at once, and its streams end within two seconds", async (_, without) => {
    const gateway = await ours.issue("gateway");
    const channels = [channelOf(gateway, false), channelOf(gateway, true)];
    for (const channel of channels) await channel.client(AccountsService).getAccount(request);
    const { ended, first } = opened(channels[0]!);
    const other = opened(channelOf(await ours.issue("auth")));
    await Promise.all([first, other.first]);
    const removedAt = Date.now();
    peers.set(without(gateway));
    for (const channel of channels) {
      await expect(channel.client(AccountsService).getAccount(request)).rejects.toMatchObject({
        reason: "CallerNotAllowed",
      });
    }
    expect(await ended).toMatchObject({ reason: "CallerNotAllowed" });
    expect(Date.now() - removedAt).toBeLessThan(2_000);
    expect(await Promise.race([other.ended, new Promise((resolve) => setTimeout(resolve, 1_200, "open"))])).toBe(
      "open",
    );
  });

  test("beside a revoked certificate another one of the same name is good", async () => {
    const stolen = await ours.issue("gateway");
    peers.set(peersFile.parse({ revoked: [fingerprint(stolen)], rpcs: table("gateway") }));
    await channelOf(await ours.issue("gateway"))
      .client(AccountsService)
      .getAccount(request);
    const call = channelOf(stolen).client(AccountsService).getAccount(request);
    await expect(call).rejects.toMatchObject({ reason: "CallerNotAllowed" });
  });

  test("a caller that is added may call", async () => {
    const channel = channelOf(await ours.issue("signer"));
    await expect(channel.client(AccountsService).getAccount(request)).rejects.toMatchObject({
      reason: "CallerNotAllowed",
    });
    peers.set(peersFile.parse({ rpcs: table("gateway", "signer") }));
    await channel.client(AccountsService).getAccount(request);
  });
});

import dns from "node:dns";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { pipeline } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { AccountsService, GetAccountResponse } from "@countersign/proto/account/v1/accounts.ts";
import { TokenStateService, WatchResponse } from "@countersign/proto/auth/v1/token_state.ts";
import { expect, test, vi } from "vitest";
import { createRpcChannel, createRpcClient } from "./client.ts";
import type { RpcServer } from "./server.ts";
import { accountRpcs, callsRpc, offerAccounts } from "./testing/accounts.ts";
import { createAuthority } from "./testing/authority.ts";
import { testServer } from "./testing/harness.ts";

const service = { callers: ["gateway"], token: "service" as const };

/** Two servers, each with its own answer, and a client of both. */
async function twoReplicas(answer: (index: number, accountId: string) => Promise<void>, coalesce: boolean) {
  const authority = await createAuthority();
  const tls = await authority.issue("account");
  const replicas = [0, 1].map((index) => {
    const running = testServer(tls, { ...accountRpcs, ...callsRpc });
    offerAccounts(running.server, async ({ accountId }) => {
      await answer(index, accountId);
      return GetAccountResponse.create();
    });
    return running;
  });
  const addresses = await Promise.all(replicas.map((replica) => replica.listen()));
  const client = createRpcClient(AccountsService, {
    address: addresses.join(","),
    tls: await authority.issue("gateway"),
    serverName: "account",
    deadlineMs: 3_000,
    coalesce,
  });
  return { servers: replicas.map(({ server }) => server) as [RpcServer, RpcServer], client };
}

test("calls are spread over all addresses, and continue at the others when one is gone", async () => {
  const counts = [0, 0];
  const count = async (index: number) => {
    counts[index]! += 1;
  };
  const { servers, client } = await twoReplicas(count, false);
  const ask = () => client.getAccount({ accountId: "a", chainName: "c" }, { idempotent: true });

  while (counts.includes(0)) await ask();
  await servers[0].stop(0);
  const before = [...counts];
  for (let i = 0; i < 10; i += 1) await ask();
  expect(counts).toEqual([before[0], before[1]! + 10]);

  client.close();
  await servers[1].stop(0);
});

test.each([{ coalesce: false }, { coalesce: true }])(
  "a replica that is added gets calls, and no call fails when connections are replaced (coalesce: $coalesce)",
  async ({ coalesce }) => {
    const authority = await createAuthority();
    const tls = await authority.issue("account");
    const start = async (address: string) => {
      const replica = {
        calls: 0,
        port: 0,
        server: testServer(tls, { ...accountRpcs, ...callsRpc }).server,
      };
      offerAccounts(replica.server, async () => {
        replica.calls += 1;
        return GetAccountResponse.create();
      });
      replica.port = (await replica.server.listen(address)).port;
      return replica;
    };
    const names = [{ address: "127.0.0.1", family: 4 }];
    vi.spyOn(dns.promises, "lookup").mockImplementation(async () => names as never);
    const first = await start("127.0.0.1:0");
    const client = createRpcClient(AccountsService, {
      address: `account.example:${first.port}`,
      tls: await authority.issue("gateway"),
      serverName: "account",
      deadlineMs: 3_000,
      replaceConnectionsAfterMs: 300,
      coalesce,
    });
    await client.getAccount({ accountId: "a", chainName: "c" });
    const second = await start(`127.0.0.2:${first.port}`);
    names.push({ address: "127.0.0.2", family: 4 });
    const counts = [first.calls, second.calls];
    const isOver = performance.now() + 2_000;
    // None of them is idempotent: none is repeated by the client. A shared stream stays where it is.
    while (performance.now() < isOver || (!coalesce && (first.calls === counts[0] || second.calls === counts[1]))) {
      await client.getAccount({ accountId: "a", chainName: "c" });
      await sleep(5);
    }
    client.close();
    await Promise.all([first.server.stop(0), second.server.stop(0)]);
    vi.restoreAllMocks();
  },
  30_000,
);

test("a replica that stops with a slow call keeps no other call waiting", async () => {
  const isSlow = Promise.withResolvers<number>();
  const finish = Promise.withResolvers<void>();
  const answer = async (index: number, accountId: string) => {
    if (accountId !== "slow") return;
    isSlow.resolve(index);
    await finish.promise;
  };
  const { servers, client } = await twoReplicas(answer, true);
  const ask = (accountId: string) => client.getAccount({ accountId, chainName: "c" });
  const slow = ask("slow");
  const stopping = await isSlow.promise;
  const stopped = servers[stopping]!.stop(5_000);
  for (let i = 0; i < 5; i += 1) await ask("quick");
  finish.resolve();
  await Promise.all([slow, stopped]);
  client.close();
  await servers[1 - stopping]!.stop(0);
});

test("all clients of a channel use one connection", async () => {
  const authority = await createAuthority();
  const { server, listen } = testServer(await authority.issue("account"), accountRpcs);
  offerAccounts(server, async () => GetAccountResponse.create());
  const port = Number((await listen()).split(":")[1]);
  let connections = 0;
  const counting = createServer((socket) => {
    connections += 1;
    pipeline(socket, connect(port, "127.0.0.1"), socket, () => undefined);
  });
  await once(counting.listen(0, "127.0.0.1"), "listening");

  const channel = createRpcChannel({
    address: `127.0.0.1:${(counting.address() as AddressInfo).port}`,
    tls: await authority.issue("gateway"),
    serverName: "account",
    deadlineMs: 3_000,
  });
  const [one, other] = [channel.client(AccountsService), channel.client(AccountsService, 1_000)];
  for (const client of [one, other, one]) await client.getAccount({ accountId: "a", chainName: "c" });
  expect(connections).toBe(1);

  channel.close();
  await server.stop(0);
  counting.close();
});

test("a stream that waits for a replica begins soon after one has started; without waiting it fails", async () => {
  const authority = await createAuthority();
  const tokenState = { "auth.v1.TokenState/Watch": service, "auth.v1.TokenState/ListBlockedKeys": service };
  const { server } = testServer(await authority.issue("auth"), tokenState);
  server.add(TokenStateService, {
    listBlockedKeys: (async () => undefined) as never,
    async *watch() {
      yield WatchResponse.create({ cursor: "c1" });
    },
  });
  const reserved = createServer().listen(0, "127.0.0.1");
  await once(reserved, "listening");
  const address = `127.0.0.1:${(reserved.address() as AddressInfo).port}`;
  await new Promise((closed) => reserved.close(closed));
  const tls = await authority.issue("gateway");
  const client = createRpcClient(TokenStateService, { address, tls, serverName: "auth", deadlineMs: 3_000 });
  const first = async (waitForReady: boolean) => {
    for await (const { cursor } of client.watch({ cursor: "", packed: true }, { waitForReady })) return cursor;
  };

  await expect(first(false)).rejects.toMatchObject({ reason: "Unavailable" });
  const waiting = first(true);
  await sleep(3_000);
  await server.listen(address);
  const listening = performance.now();
  expect(await waiting).toBe("c1");
  // The longest time between two attempts to connect is 500 ms, a fifth more or less.
  expect(performance.now() - listening).toBeLessThan(1_500);

  client.close();
  await server.stop(0);
});

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppError, type TokenVerifier } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { ensureCertificates, tlsFiles } from "@countersign/local-stack/certificates.ts";
import type { Device } from "@countersign/proto/common/v1/types.ts";
import { DevicesService } from "@countersign/proto/device/v1/devices.ts";
import { KeysService } from "@countersign/proto/key/v1/keys.ts";
import {
  type CallContext,
  createRpcClient,
  createRpcServer,
  publicKeyToProto,
  type RpcClient,
  type RpcServer,
  type ServiceDefinition,
} from "@countersign/rpc";
import { createLogger, createMetrics, loadPeers, loadTls } from "@countersign/runtime";
import { v7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { deviceDirectory } from "../clients/device-directory.ts";
import { followChain } from "../domain/follow-chain.ts";
import type { ChainDirectory } from "../domain/ports.ts";
import { postgresKeyStore } from "../store/postgres-key-store.ts";
import { somePublicKey } from "../testing/samples.ts";
import { postgres, prisma } from "../testing/store-fixture.ts";
import { keysHandlers } from "./keys.ts";

describe("key over gRPC with mutual TLS", () => {
  const clock = new FixedClock();
  const devicesOf = new Map<string, Device[]>();
  // The tokens of this test are account ids.
  const tokenVerifier: TokenVerifier = {
    verify(raw) {
      if (raw === "an outsider") throw new AppError("InvalidAccessToken");
      const key = somePublicKey();
      const times = { issuedAt: clock.now(), expiresAt: clock.now() };
      const ids = { accountId: raw, sessionId: v7(), appId: "demo" };
      return { ...ids, ...times, scope: "full", deviceKey: key, accountKey: key };
    },
  };
  const servers: RpcServer[] = [];
  const clients: { close(): void }[] = [];
  const addresses: Record<string, string> = {};
  let stateDir: string;

  const clientOf = <D extends ServiceDefinition>(service: D, caller: string, serverName: string): RpcClient<D> => {
    const tls = loadTls(tlsFiles(stateDir, caller));
    const client = createRpcClient(service, { address: addresses[serverName]!, tls, serverName, deadlineMs: 5000 });
    clients.push(client);
    return client;
  };
  const serve = async (name: string, add: (server: RpcServer) => RpcServer) => {
    const server = createRpcServer({
      tls: loadTls(tlsFiles(stateDir, name)),
      peers: loadPeers(join(import.meta.dirname, "../../../../deploy/peers.json")),
      tokenVerifier,
      logger: createLogger({ name, level: "silent" }),
      metrics: createMetrics(name, { defaults: false }),
    });
    servers.push(server);
    addresses[name] = `127.0.0.1:${(await add(server).listen("127.0.0.1:0")).port}`;
  };

  beforeAll(async () => {
    stateDir = await mkdtemp(join(tmpdir(), "countersign-key-"));
    await ensureCertificates(stateDir);
    const unused = () => Promise.reject(new AppError("NotImplemented"));
    await serve("device", (server) =>
      server.add(DevicesService, {
        registerDevice: unused,
        updateDevice: unused,
        removeDevice: unused,
        listDevices: async (_, { token }) => ({ devices: devicesOf.get(token?.accountId ?? "") ?? [] }),
      }),
    );
    const devices = deviceDirectory(clientOf(DevicesService, "key", "device"));
    const chain: ChainDirectory<CallContext> = {
      list: async () => [],
      verifyRevocation: async ({ accountId, chainName, publicKey }) => {
        await prisma.registration.updateMany({
          where: { accountId, chainName, accountKey: publicKey.publicKey },
          data: { revokedAt: clock.now() },
        });
      },
    };
    const store = postgresKeyStore(prisma, postgres);
    const follow = followChain({ store, chain, clock, newId: v7, alertAfterMs: 1000 });
    const limits = { maxUserKeys: 20, reportsPerMinute: 120 };
    const options = { store, clock, newId: v7, ...limits, devices, chain, follow, repair: follow };
    const registering = { ...options, registration: { chain, follow } };
    await serve("key", (server) => server.add(KeysService, keysHandlers(registering)));
  });
  afterAll(async () => {
    for (const client of clients) client.close();
    await Promise.all(servers.map((server) => server.stop(100)));
    await rm(stateDir, { recursive: true });
  });

  const registration = (accountId: string, keyIndex = 1) =>
    ({
      accountId,
      chainName: "flow-emulator",
      app: { appId: "demo", appName: "Demo wallet" },
      type: 1,
      accountKey: publicKeyToProto(somePublicKey()),
      deviceKey: publicKeyToProto(somePublicKey()),
      keyIndex,
      origin: 1,
      name: "Ada's phone",
    }) as const;

  it("registers keys, finds them for sign-in, and lists them with the devices of the token's account", async () => {
    const [auth, gateway] = [clientOf(KeysService, "auth", "key"), clientOf(KeysService, "gateway", "key")];
    const accountId = v7();
    const request = registration(accountId);
    const { deviceKey, accountKey, chainName, type, origin } = request;
    const device: Device = {
      id: v7(),
      publicKey: deviceKey,
      accountId,
      attributes: undefined,
      createdAt: clock.now(),
      lastUsedAt: clock.now(),
    };
    devicesOf.set(accountId, [device]);
    await auth.registerKey(request);
    clock.advance(1000);
    const removed = registration(accountId, 2);
    await auth.registerKey(removed);

    const query = { accountId, chainName, publicKey: deviceKey, usedAt: undefined };
    const unknown = { ...query, publicKey: publicKeyToProto(somePublicKey()) };
    const { answers } = await auth.findSignInKeys({ queries: [unknown, query] });
    expect(answers).toEqual([{ key: undefined }, { key: { type, accountKey, deviceKey, origin } }]);
    const lastUse = async () => (await gateway.listKeys({ includeRevoked: false }, { token: accountId })).keys[0];
    expect((await lastUse())?.lastUsedAt).toBeUndefined();
    await auth.findSignInKeys({ queries: [{ ...query, usedAt: clock.now() }] });
    await expect.poll(async () => (await lastUse())?.lastUsedAt).toEqual(clock.now());

    const { keys } = await gateway.listKeys({ includeRevoked: false }, { token: accountId });
    expect(keys).toMatchObject([
      { accountKey, keyIndex: 1, app: request.app, userKey: { type, deviceKey, device } },
      { accountKey: removed.accountKey, keyIndex: 2, userKey: { device: undefined } },
    ]);
    expect((await gateway.listKeys({ includeRevoked: true }, { token: v7() })).keys).toEqual([]);
  });

  it("refuses keys off the curve and names other fields at fault", async () => {
    const auth = clientOf(KeysService, "auth", "key");
    const request = registration(v7());
    const accountKey = { ...request.accountKey, bytes: Buffer.alloc(64, 1) };
    await expect(auth.registerKey({ ...request, accountKey })).rejects.toMatchObject({ reason: "InvalidPublicKey" });
    const wrong = { ...request, chainName: "", origin: 0, keyIndex: -1 } as const;
    await expect(auth.registerKey(wrong)).rejects.toMatchObject({
      reason: "InvalidRequest",
      fields: [{ pointer: "/chainName" }, { pointer: "/keyIndex" }, { pointer: "/origin" }],
    });
  });

  it("takes the report of a revocation, and the same again", async () => {
    const [auth, gateway] = [clientOf(KeysService, "auth", "key"), clientOf(KeysService, "gateway", "key")];
    const accountId = v7();
    const { accountKey, ...request } = registration(accountId);
    await auth.registerKey({ accountKey, ...request });
    const report = { publicKey: accountKey.bytes, txId: "ab".repeat(32) };
    await gateway.reportRevocation(report, { token: accountId });
    await gateway.reportRevocation(report, { token: accountId });
    expect((await gateway.listKeys({ includeRevoked: false }, { token: accountId })).keys).toEqual([]);
    const { keys } = await gateway.listKeys({ includeRevoked: true }, { token: accountId });
    expect(keys).toMatchObject([{ accountKey, revokedAt: clock.now() }]);
  });

  it("asks for the right caller and token, and names what is nobody's", async () => {
    const gateway = clientOf(KeysService, "gateway", "key");
    const refused = (reason: string) => expect.objectContaining({ reason });
    await expect(gateway.registerKey(registration(v7()))).rejects.toEqual(refused("CallerNotAllowed"));
    await expect(gateway.listKeys({ includeRevoked: false })).rejects.toEqual(refused("Unauthenticated"));
    const unknown = gateway.listKeys({ includeRevoked: false }, { token: "an outsider" });
    await expect(unknown).rejects.toEqual(refused("InvalidAccessToken"));
    const nobodys = { publicKey: Buffer.alloc(64), txId: "ab".repeat(32) };
    await expect(gateway.reportRevocation({ ...nobodys, txId: "" }, { token: v7() })).rejects.toEqual(
      refused("InvalidRequest"),
    );
    await expect(gateway.reportRevocation(nobodys, { token: v7() })).rejects.toEqual(refused("KeyNotFound"));
    const recovery = { publicKey: publicKeyToProto(somePublicKey()), cloudAccountName: "", chainName: "" };
    await expect(gateway.registerRecoveryKey(recovery, { token: v7() })).rejects.toEqual(refused("AccountNotReady"));
  });
});

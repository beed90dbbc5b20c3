import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppError, type TokenVerifier, type VerifiedToken } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import type { PublicKey } from "@countersign/keys";
import { ensureCertificates, tlsFiles } from "@countersign/local-stack/certificates.ts";
import { DevicesService } from "@countersign/proto/device/v1/devices.ts";
import {
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
import { postgresDeviceStore } from "../store/postgres-device-store.ts";
import { someAttributes, somePublicKey } from "../testing/samples.ts";
import { postgres, prisma } from "../testing/store-fixture.ts";
import { devicesHandlers } from "./devices.ts";

describe("device over gRPC with mutual TLS", () => {
  const clock = new FixedClock();
  const tokens = new Map<string, VerifiedToken>();
  const tokenVerifier: TokenVerifier = {
    verify(raw) {
      const token = tokens.get(raw);
      if (!token) throw new AppError("InvalidAccessToken");
      return token;
    },
  };
  let stateDir: string;
  let server: RpcServer;
  let address: string;

  const clients: { close(): void }[] = [];
  const clientOf = <D extends ServiceDefinition>(service: D, caller: string): RpcClient<D> => {
    const tls = loadTls(tlsFiles(stateDir, caller));
    const client = createRpcClient(service, { address, tls, serverName: "device", deadlineMs: 5000 });
    clients.push(client);
    return client;
  };
  const signIn = (accountId: string, deviceKey: PublicKey, scope: VerifiedToken["scope"] = "full"): string => {
    const raw = `token-${tokens.size}`;
    tokens.set(raw, {
      accountId,
      deviceKey,
      accountKey: deviceKey,
      scope,
      sessionId: v7(),
      appId: "demo",
      issuedAt: clock.now(),
      expiresAt: clock.now(),
    });
    return raw;
  };
  const registration = (accountId: string, publicKey: PublicKey) => ({
    accountId,
    deviceId: v7(),
    publicKey: publicKeyToProto(publicKey),
    attributes: someAttributes,
  });

  beforeAll(async () => {
    stateDir = await mkdtemp(join(tmpdir(), "countersign-device-"));
    await ensureCertificates(stateDir);
    server = createRpcServer({
      tls: loadTls(tlsFiles(stateDir, "device")),
      peers: loadPeers(join(import.meta.dirname, "../../../../deploy/peers.json")),
      tokenVerifier,
      logger: createLogger({ name: "device", level: "silent" }),
      metrics: createMetrics("device", { defaults: false }),
    }).add(
      DevicesService,
      devicesHandlers({ store: postgresDeviceStore(prisma, postgres), clock, maxDevices: 20, updatesPerMinute: 30 }),
    );
    const { port } = await server.listen("127.0.0.1:0");
    address = `127.0.0.1:${port}`;
  });
  afterAll(async () => {
    for (const client of clients) client.close();
    await server.stop(100);
    await rm(stateDir, { recursive: true });
  });

  it("registers, lists, changes and removes a device", async () => {
    const [auth, gateway] = [clientOf(DevicesService, "auth"), clientOf(DevicesService, "gateway")];
    const accountId = v7();
    const key = somePublicKey();
    const token = signIn(accountId, key);
    const request = registration(accountId, key);
    const { device } = await auth.registerDevice(request);
    expect(device).toMatchObject({
      id: request.deviceId,
      attributes: someAttributes,
      accountId,
    });

    const publicKey = Buffer.from(key.publicKey, "hex");
    const updated = await gateway.updateDevice({ publicKey, pushToken: "push", name: "" }, { token });
    expect(updated.device?.attributes).toEqual({ ...someAttributes, pushToken: "push", name: "" });
    expect((await gateway.listDevices({}, { token })).devices).toEqual([updated.device]);

    const chain = { chainName: "flow-emulator", deviceKeys: [publicKeyToProto(key)], recoveryKey: false };
    const removal = (recoveryKey: boolean) => ({ publicKey, access: { chains: [{ ...chain, recoveryKey }] } });
    await expect(auth.removeDevice({ publicKey, access: undefined }, { token })).rejects.toMatchObject({
      reason: "Unavailable",
    });
    await expect(auth.removeDevice(removal(false), { token })).rejects.toMatchObject({ reason: "LastDevice" });
    await auth.removeDevice(removal(true), { token });
    expect((await gateway.listDevices({}, { token })).devices).toEqual([]);
  });

  it("keeps accounts apart", async () => {
    const [auth, gateway] = [clientOf(DevicesService, "auth"), clientOf(DevicesService, "gateway")];
    const [own, other] = [somePublicKey(), somePublicKey()];
    const accountId = v7();
    await auth.registerDevice(registration(accountId, own));
    await auth.registerDevice(registration(v7(), other));
    const token = signIn(accountId, own);
    const publicKey = Buffer.from(other.publicKey, "hex");
    const notFound = { reason: "DeviceNotFound" };
    await expect(gateway.updateDevice({ publicKey, name: "x" }, { token })).rejects.toMatchObject(notFound);
    await expect(auth.removeDevice({ publicKey, access: undefined }, { token })).rejects.toMatchObject(notFound);
    expect((await gateway.listDevices({}, { token })).devices).toHaveLength(1);
  });

  it("shows a push token to its own device, and to no other session of the account", async () => {
    const [auth, gateway, key] = ["auth", "gateway", "key"].map((caller) => clientOf(DevicesService, caller));
    const accountId = v7();
    const [own, other] = [somePublicKey(), somePublicKey()];
    for (const device of [own, other]) {
      const attributes = { ...someAttributes, pushToken: `push of ${device.publicKey}` };
      await auth!.registerDevice({ ...registration(accountId, device), attributes });
    }
    const token = signIn(accountId, own);
    const recovery = signIn(accountId, somePublicKey(), "recover");
    const shown = async (client: typeof auth, by: string) => {
      const { devices } = await client!.listDevices({}, { token: by });
      return devices.map(({ attributes }) => attributes?.pushToken).sort();
    };
    for (const client of [gateway, key]) {
      expect(await shown(client, token)).toEqual(["", `push of ${own.publicKey}`]);
      expect(await shown(client, recovery)).toEqual(["", ""]);
    }
    const publicKey = Buffer.from(other.publicKey, "hex");
    const { device: renamed } = await gateway!.updateDevice({ publicKey, name: "Renamed" }, { token });
    expect(renamed?.attributes).toEqual({ ...someAttributes, name: "Renamed" });
  });

  it("names the fields at fault", async () => {
    const auth = clientOf(DevicesService, "auth");
    const request = { ...registration("no-uuid", somePublicKey()), attributes: undefined };
    await expect(auth.registerDevice(request)).rejects.toMatchObject({
      reason: "InvalidRequest",
      fields: [{ pointer: "/accountId" }, { pointer: "/attributes" }],
    });
  });

  it("asks for the right caller and the right token", async () => {
    const [auth, gateway] = [clientOf(DevicesService, "auth"), clientOf(DevicesService, "gateway")];
    const accountId = v7();
    const key = somePublicKey();
    const refused = (reason: string) => expect.objectContaining({ reason });
    await expect(gateway.registerDevice(registration(accountId, key))).rejects.toEqual(refused("CallerNotAllowed"));
    await expect(auth.listDevices({}, { token: signIn(accountId, key) })).rejects.toEqual(refused("CallerNotAllowed"));
    await expect(gateway.listDevices({})).rejects.toEqual(refused("Unauthenticated"));
    await expect(gateway.listDevices({}, { token: "an outsider" })).rejects.toEqual(refused("InvalidAccessToken"));
    const ephemeral = signIn(accountId, key, "sign");
    await expect(gateway.listDevices({}, { token: ephemeral })).rejects.toEqual(refused("InsufficientScope"));
  });
});

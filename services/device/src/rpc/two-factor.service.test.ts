import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppError, type VerifiedToken } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { generateKeyPair, signMessage } from "@countersign/keys/node";
import { ensureCertificates, tlsFiles } from "@countersign/local-stack/certificates.ts";
import { UserKeyType } from "@countersign/proto/common/v1/types.ts";
import { type TwoFactorAuth, TwoFactorService, TwoFactorStatus } from "@countersign/proto/device/v1/two_factor.ts";
import {
  createRpcClient,
  createRpcServer,
  publicKeyToProto,
  type RpcServer,
  type SoleRpcClient,
} from "@countersign/rpc";
import { createMetrics, loadPeers, loadTls } from "@countersign/runtime";
import { v4, v7 } from "uuid";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { updateDevice } from "../domain/devices/update-device.ts";
import { postgresDeviceStore } from "../store/postgres-device-store.ts";
import { prismaTwoFactorStore } from "../store/prisma-two-factor-store.ts";
import { someAttributes } from "../testing/samples.ts";
import { silentLogger } from "../testing/silent-logger.ts";
import { postgres, prisma } from "../testing/store-fixture.ts";
import { LIFE_MS, type Registered, refused, type TwoFactorWorld, twoFactorWorld } from "../testing/two-factor-world.ts";
import { twoFactorHandlers } from "./two-factor.ts";

const TX = "ab".repeat(32);

describe("requests for approval over gRPC with mutual TLS", () => {
  const clock = new FixedClock();
  const tokens = new Map<string, VerifiedToken>();
  let stateDir: string;
  let world: TwoFactorWorld;
  let server: RpcServer;
  let auth: SoleRpcClient<TwoFactorService>;
  let gateway: SoleRpcClient<TwoFactorService>;

  const signIn = ({ session }: Registered, scope: VerifiedToken["scope"] = "full"): { token: string } => {
    const token = `token-${tokens.size}`;
    const ids = { sessionId: v7(), appId: "demo" };
    tokens.set(token, { ...session, ...ids, scope, issuedAt: clock.now(), expiresAt: clock.now() });
    return { token };
  };

  beforeAll(async () => {
    stateDir = await mkdtemp(join(tmpdir(), "countersign-two-factor-"));
    await ensureCertificates(stateDir);
    const stores = { requests: prismaTwoFactorStore(prisma), devices: postgresDeviceStore(prisma, postgres) };
    world = twoFactorWorld(stores, clock);
    server = createRpcServer({
      tls: loadTls(tlsFiles(stateDir, "device")),
      peers: loadPeers(join(import.meta.dirname, "../../../../deploy/peers.json")),
      tokenVerifier: {
        verify(raw) {
          const token = tokens.get(raw);
          if (!token) throw new AppError("InvalidAccessToken");
          return token;
        },
      },
      logger: silentLogger,
      metrics: createMetrics("device", { defaults: false }),
    }).add(
      TwoFactorService,
      twoFactorHandlers({ ...world.ports, limits: { pending: 5, rejections: 3 }, locate: () => "" }),
    );
    const { port } = await server.listen("127.0.0.1:0");
    const clientOf = (caller: string) =>
      createRpcClient(TwoFactorService, {
        address: `127.0.0.1:${port}`,
        tls: loadTls(tlsFiles(stateDir, caller)),
        serverName: "device",
        deadlineMs: 5000,
      });
    [auth, gateway] = [clientOf("auth"), clientOf("gateway")];
  });
  afterAll(async () => {
    auth.close();
    gateway.close();
    await server.stop(100);
    await rm(stateDir, { recursive: true });
  });

  let old: Registered;
  let token: { token: string };
  const wireRequest = (accountId: string, changes: object = {}) => {
    const key = publicKeyToProto(generateKeyPair().publicKey);
    return {
      id: v7(),
      accountId,
      chainName: "flow-emulator",
      app: { appId: "demo", appName: "Demo" },
      userKey: { type: UserKeyType.USER_KEY_TYPE_DEVICE, accountKey: key, deviceKey: key, device: someAttributes },
      signIn: { email: "ada@example.org", ip: "192.0.2.1", location: "" },
      expiresAt: new Date(clock.now().getTime() + LIFE_MS),
      recovering: false,
      byRecoverySession: false,
      ...changes,
    };
  };
  const open = async (changes: object = {}): Promise<TwoFactorAuth> =>
    (await auth.openTwoFactor(wireRequest(old.device.accountId, changes))).twoFactorAuth!;
  const signatureOver = (message: Uint8Array) => ({
    signature: Buffer.from(signMessage(old.keys.privateKey, message)),
    clientDataJson: Buffer.alloc(0),
    authenticatorData: Buffer.alloc(0),
  });

  beforeEach(async () => {
    world.chain.down = false;
    world.chain.submission = "submitted";
    world.chain.verification = "sealed";
    old = await world.device(v7());
    token = signIn(old);
  });

  it("goes from the request to the end", async () => {
    const asking = wireRequest(old.device.accountId);
    const command = { ...asking, userKey: { ...asking.userKey, device: { ...someAttributes, pushToken: "theirs" } } };
    const update = updateDevice({ store: world.devices, clock });
    const { session, device } = old;
    await update({ session, publicKey: device.publicKey.publicKey, changes: { pushToken: "mine" }, requestId: "test" });
    const { twoFactorAuth: opened } = await auth.openTwoFactor(command);
    expect(opened).toMatchObject({
      id: command.id,
      accountId: command.accountId,
      status: TwoFactorStatus.TWO_FACTOR_STATUS_PENDING,
      resultTxId: "",
      expiresAt: command.expiresAt,
      request: { app: command.app, signIn: command.signIn, requestedAt: clock.now() },
    });
    expect(opened?.request?.srcDevice?.publicKey).toEqual(command.userKey.deviceKey);
    expect(opened?.request?.destDevice?.id).toBe(old.device.id);

    const { id, message } = opened!.request!;
    const { twoFactorAuth: shown } = await gateway.getTwoFactor({ id }, token);
    const { twoFactorAuths } = await gateway.listTwoFactor({ status: 1 }, token);
    expect(twoFactorAuths).toEqual([shown]);
    // A push token is for its own device and the push service, and not for a thief with a stolen login.
    const pushTokens = ({ request }: TwoFactorAuth) =>
      [request?.srcDevice, request?.destDevice].map((each) => each?.attributes?.pushToken);
    expect(pushTokens(opened!)).toEqual(["theirs", ""]);
    expect(pushTokens(shown!)).toEqual(["", "mine"]);
    const third = signIn(await world.device(old.device.accountId));
    expect(pushTokens((await gateway.getTwoFactor({ id }, third)).twoFactorAuth!)).toEqual(["", ""]);
    const { id: destDeviceId } = old.device;
    const { twoFactorAuth: redirected } = await gateway.redirectTwoFactor({ id, destDeviceId }, token);
    expect(pushTokens(redirected!)).toEqual(["", "mine"]);

    const { accountId } = command;
    expect(redirected?.request?.message).toEqual(message);
    await gateway.approveTwoFactor({ id: command.id, signature: signatureOver(message) }, token);
    expect(await auth.describeEnrollment({ accountId, id })).toMatchObject({ sealed: false, keyIndex: -1 });
    world.chain.decide("sealed");
    const enrollment = await auth.describeEnrollment({ accountId, id });
    expect(enrollment).toMatchObject({
      sealed: true,
      keyIndex: 2,
      chainName: command.chainName,
      userKey: command.userKey,
      app: command.app,
    });
    expect(enrollment.transaction?.chainName).toBe(command.chainName);
    expect(enrollment.twoFactorAuth?.resultTxId).toBe(enrollment.transaction?.id);
    const { twoFactorAuth: finished } = await auth.finishTwoFactor({ accountId, id });
    expect(finished?.status).toBe(TwoFactorStatus.TWO_FACTOR_STATUS_FINISHED);
    await expect(auth.finishTwoFactor({ accountId, id })).rejects.toMatchObject(refused("TwoFactorAuthFinished"));
  });

  it("takes a transaction, redirects, rejects and reopens", async () => {
    const { id } = await open();
    await gateway.approveTwoFactor({ id, txId: TX }, token);
    expect((await gateway.getTwoFactor({ id }, token)).twoFactorAuth?.resultTxId).toBe(TX);

    const second = await open();
    const destDeviceId = (await world.device(old.device.accountId)).device.id;
    const { twoFactorAuth } = await gateway.redirectTwoFactor({ id: second.id, destDeviceId }, token);
    expect(twoFactorAuth?.request?.destDevice?.id).toBe(destDeviceId);
    await gateway.rejectTwoFactor({ id: second.id }, token);
    for (let index = 0; index < 2; index++) await gateway.rejectTwoFactor({ id: (await open()).id }, token);
    await expect(open()).rejects.toMatchObject(refused("TwoFactorAuthClosed"));
    await gateway.reopenTwoFactor({}, token);
    await expect(open()).resolves.toBeDefined();
  });

  it("is not closed by what a recovery session rejects", async () => {
    const recovery = signIn(old, "recover");
    for (let index = 0; index < 3; index++) await gateway.rejectTwoFactor({ id: (await open()).id }, recovery);
    await expect(open()).resolves.toBeDefined();
  });

  it("of an id of any form that names nothing is not found", async () => {
    const notFound = refused("TwoFactorAuthNotFound");
    const { accountId } = old.device;
    for (const id of [v7(), v4(), "1", "", "reopen", "é", "x".repeat(5000), (await open()).id.toUpperCase()]) {
      await expect(gateway.getTwoFactor({ id }, token)).rejects.toMatchObject(notFound);
      await expect(gateway.redirectTwoFactor({ id, destDeviceId: v7() }, token)).rejects.toMatchObject(notFound);
      await expect(gateway.rejectTwoFactor({ id }, token)).rejects.toMatchObject(notFound);
      await expect(gateway.approveTwoFactor({ id, txId: TX }, token)).rejects.toMatchObject(notFound);
      await expect(auth.describeEnrollment({ accountId, id })).rejects.toMatchObject(notFound);
    }
  });

  it("takes the same decision of the same device again", async () => {
    const approved = await open();
    const other = signIn(await world.device(old.device.accountId));
    for (let times = 0; times < 2; times++) await gateway.approveTwoFactor({ id: approved.id, txId: TX }, token);
    const notPending = refused("TwoFactorAuthNotPending");
    await expect(gateway.approveTwoFactor({ id: approved.id, txId: TX }, other)).rejects.toMatchObject(notPending);
    const rejected = await open();
    for (let times = 0; times < 2; times++) await gateway.rejectTwoFactor({ id: rejected.id }, token);
    await expect(gateway.rejectTwoFactor({ id: rejected.id }, other)).rejects.toMatchObject(notPending);
  });

  it("is each account's own", async () => {
    const { id } = await open();
    const outsider = signIn(await world.device(v7()));
    const notFound = refused("TwoFactorAuthNotFound");
    await expect(gateway.getTwoFactor({ id }, outsider)).rejects.toMatchObject(notFound);
    await expect(gateway.rejectTwoFactor({ id }, outsider)).rejects.toMatchObject(notFound);
    await expect(gateway.approveTwoFactor({ id, txId: TX }, outsider)).rejects.toMatchObject(notFound);
    await expect(auth.describeEnrollment({ accountId: v7(), id })).rejects.toMatchObject(notFound);
    expect((await gateway.listTwoFactor({ status: 0 }, outsider)).twoFactorAuths).toEqual([]);
  });

  it("asks for the right caller and a full token", async () => {
    const { id } = await open();
    const { accountId } = old.device;
    const notAllowed = refused("CallerNotAllowed");
    await expect(gateway.openTwoFactor(wireRequest(accountId))).rejects.toMatchObject(notAllowed);
    await expect(gateway.finishTwoFactor({ accountId, id })).rejects.toMatchObject(notAllowed);
    await expect(gateway.describeEnrollment({ accountId, id })).rejects.toMatchObject(notAllowed);
    await expect(auth.approveTwoFactor({ id, txId: TX }, token)).rejects.toMatchObject(notAllowed);
    await expect(gateway.getTwoFactor({ id })).rejects.toMatchObject(refused("Unauthenticated"));
    const ephemeral = signIn(old, "sign");
    const insufficient = refused("InsufficientScope");
    await expect(gateway.getTwoFactor({ id }, ephemeral)).rejects.toMatchObject(insufficient);
    await expect(gateway.approveTwoFactor({ id, txId: TX }, ephemeral)).rejects.toMatchObject(insufficient);
    await expect(gateway.reopenTwoFactor({}, ephemeral)).rejects.toMatchObject(insufficient);
  });

  it("names the fields at fault", async () => {
    const invalid = (...pointers: string[]) => ({
      reason: "InvalidRequest",
      fields: pointers.map((pointer) => ({ pointer })),
    });
    const bad = { id: "1", chainName: "", app: undefined, expiresAt: undefined };
    await expect(open(bad)).rejects.toMatchObject(invalid("/id", "/chainName", "/app", "/expiresAt"));
    const { id } = await open();
    const approve = (approval: object) => gateway.approveTwoFactor({ id, ...approval }, token);
    await expect(approve({})).rejects.toMatchObject(invalid("/approval"));
    await expect(approve({ txId: `0x${TX}` })).rejects.toMatchObject(invalid("/txId"));
    const empty = { ...signatureOver(Buffer.from("x")), signature: Buffer.alloc(0) };
    await expect(approve({ signature: empty })).rejects.toMatchObject(invalid("/signature/signature"));
    const passkey = { ...empty, signature: Buffer.alloc(64), clientDataJson: Buffer.from("{}") };
    await expect(approve({ signature: passkey })).rejects.toMatchObject(refused("InvalidSignature"));
    const long = { ...passkey, clientDataJson: Buffer.alloc(4097) };
    await expect(approve({ signature: long })).rejects.toMatchObject(invalid("/signature/clientDataJson"));
    await expect(gateway.listTwoFactor({ status: 9 as 1 }, token)).rejects.toMatchObject(invalid("/status"));
  });
});

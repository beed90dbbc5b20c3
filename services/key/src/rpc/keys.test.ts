import { AppError } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { publicKeyToProto } from "@countersign/rpc";
import { v7 } from "uuid";
import { expect, it } from "vitest";
import { memoryKeyStore } from "../testing/memory-key-store.ts";
import { somePublicKey } from "../testing/samples.ts";
import { keysHandlers } from "./keys.ts";

it("reports of one device read the chain so many times a minute; other devices of its account go on", async () => {
  const clock = new FixedClock();
  let reads = 0;
  const read = async () => {
    reads += 1;
    throw new AppError("ChainUnavailable");
  };
  const chain = { list: read, verifyRevocation: read };
  const options = { store: memoryKeyStore(), clock, newId: v7, chain, follow: read, repair: read, reportsPerMinute: 3 };
  const { registerKey, registerRecoveryKey, reportRevocation, describeAccess } = keysHandlers({
    ...options,
    maxUserKeys: 20,
  } as never);
  const accountId = v7();
  const [one, other] = [somePublicKey(), somePublicKey()];
  const registration = { accountId, chainName: "flow-emulator", app: { appId: "demo", appName: "Demo" }, type: 1 };
  const keys = {
    accountKey: publicKeyToProto(one),
    deviceKey: publicKeyToProto(one),
    keyIndex: 1,
    origin: 1,
    name: "",
  };
  await registerKey({ ...registration, ...keys } as never, { requestId: "r" } as never);
  const callOf = (deviceKey: typeof one) =>
    ({ token: { accountId, deviceKey, appId: "demo", scope: "full" }, requestId: "r" }) as never;
  const register = (by: typeof one) =>
    registerRecoveryKey(
      { publicKey: publicKeyToProto(somePublicKey()), cloudAccountName: "", chainName: "" } as never,
      callOf(by),
    );
  const revoke = (by: typeof one) =>
    reportRevocation({ publicKey: publicKeyToProto(one).bytes, txId: "ab".repeat(32) } as never, callOf(by));
  const away = { reason: "ChainUnavailable" };
  await expect(register(one)).rejects.toMatchObject(away);
  await expect(revoke(one)).rejects.toMatchObject(away);
  await expect(register(one)).rejects.toMatchObject(away);
  for (const report of [register, revoke]) await expect(report(one)).rejects.toMatchObject({ reason: "RateLimited" });
  expect(reads).toBe(3);
  await expect(revoke(other)).rejects.toMatchObject(away);
  const describe = () => describeAccess({ accountId }, { requestId: "r" } as never);
  for (let count = 0; count < 3; count++) await expect(describe()).rejects.toMatchObject(away);
  await expect(describe()).rejects.toMatchObject({ reason: "RateLimited" });
  clock.advance(60_000);
  await expect(revoke(one)).rejects.toMatchObject(away);
});

import { FixedClock } from "@countersign/core/testing";
import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import { memoryKeyStore } from "../testing/memory-key-store.ts";
import { someKey } from "../testing/samples.ts";
import { registerKey } from "./register-key.ts";

describe("registerKey", () => {
  const setUp = (maxUserKeys = 20) => {
    const store = memoryKeyStore();
    return { store, register: registerKey({ store, clock: new FixedClock(), newId: v7, maxUserKeys }) };
  };

  it("registers a key and emits an event", async () => {
    const { store, register } = setUp();
    const { requestId, ...command } = someKey();
    const registration = await register({ ...command, requestId });
    expect(registration).toMatchObject({ ...command, lastUsedAt: null, revokedAt: null });
    expect(store.events).toEqual([
      { type: "key-registered", registration, occurredAt: registration.createdAt, requestId },
    ]);
  });

  it("gives the registration that is there for the same key", async () => {
    const { store, register } = setUp();
    const command = someKey();
    const first = await register(command);
    expect(await register({ ...command, name: "Another name" })).toEqual(first);
    expect(store.events).toHaveLength(1);
  });

  it("does not bring a revoked key back on a late retry, but registers it again at another index", async () => {
    const { store, register } = setUp();
    const command = someKey();
    const first = await register(command);
    store.registrations[0]!.revokedAt = first.createdAt;
    expect(await register(command)).toMatchObject({ id: first.id, revokedAt: first.createdAt });
    const again = await register({ ...command, keyIndex: 2 });
    expect(again).toMatchObject({ keyIndex: 2, revokedAt: null });
  });

  it("refuses an index that another key has, and the same bytes under another algorithm", async () => {
    const { register } = setUp();
    const command = someKey();
    await register(command);
    await expect(register(someKey({ accountId: command.accountId }))).rejects.toMatchObject({
      reason: "InvalidRequest",
    });
    const other = { ...command, keyIndex: 2, accountKey: { ...command.accountKey, algorithm: "ES256K" as const } };
    await expect(register(other)).rejects.toMatchObject({ reason: "InvalidRequest" });
  });

  it("registers one key on two chains and for two accounts", async () => {
    const { store, register } = setUp();
    const command = someKey();
    await register(command);
    await register({ ...command, chainName: "flow-testnet" });
    await register({ ...command, accountId: v7() });
    expect(store.registrations).toHaveLength(3);
  });

  it("keeps the limit of a chain, and still answers retries at it", async () => {
    const { register } = setUp(2);
    const command = someKey();
    const { accountId } = command;
    await register(command);
    await register(someKey({ accountId, keyIndex: 2 }));
    await expect(register(someKey({ accountId, keyIndex: 3 }))).rejects.toMatchObject({ reason: "TooManyKeys" });
    await expect(register(command)).resolves.toBeDefined();
    await expect(register({ ...command, chainName: "flow-testnet" })).resolves.toBeDefined();
    await expect(register(someKey())).resolves.toBeDefined();
  });

  it("counts active user keys that a person registered", async () => {
    const { store, register } = setUp(2);
    const { accountId } = await register(someKey());
    for (const other of [{ revokedAt: new Date() }, { kind: "recovery" as const }, { origin: "chain" as const }]) {
      const { id } = await register(someKey({ accountId, keyIndex: store.registrations.length + 1 }));
      Object.assign(store.registrations.find((each) => each.id === id)!, other);
    }
    await expect(register(someKey({ accountId, keyIndex: 5 }))).resolves.toBeDefined();
    await expect(register(someKey({ accountId, keyIndex: 6 }))).rejects.toMatchObject({ reason: "TooManyKeys" });
  });
});

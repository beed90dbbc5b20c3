import type { ServiceRuntime } from "@countersign/runtime";
import { v7 } from "uuid";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { ATTEMPT_TIMEOUT_MS } from "../domain/two-factor/two-factor-state.ts";
import { memoryDeviceStore } from "../testing/memory-device-store.ts";
import { type MemoryTwoFactorStore, memoryTwoFactorStore } from "../testing/memory-two-factor-store.ts";
import { silentLogger } from "../testing/silent-logger.ts";
import { LIFE_MS, refused, type TwoFactorWorld, twoFactorWorld } from "../testing/two-factor-world.ts";
import { startTwoFactorJobs } from "./two-factor-sweeper.ts";

describe("the sweeper of requests", () => {
  let world: TwoFactorWorld;
  let store: MemoryTwoFactorStore;

  beforeEach(() => {
    store = memoryTwoFactorStore();
    world = twoFactorWorld({ requests: store, devices: memoryDeviceStore() });
  });

  it("expires every due request, however many, with one event each", async () => {
    for (let account = 0; account < 60; account++) {
      const accountId = v7();
      for (let index = 0; index < 2; index++) await world.open(world.enrollmentRequest(accountId));
    }
    world.clock.advance(LIFE_MS - 1);
    await world.sweep();
    expect([...store.rows.values()].every(({ status }) => status === "pending")).toBe(true);
    world.clock.advance(1);
    await Promise.all([world.sweep(), world.sweep()]);
    expect([...store.rows.values()].every(({ status }) => status === "expired")).toBe(true);
    expect(store.events.filter(({ status }) => status === "expired")).toHaveLength(120);
  });

  it("reconciles an attempt that a crash left committed but not submitted; the request expires then", async () => {
    const old = await world.device(v7());
    const { request } = await world.open(world.enrollmentRequest(old.device.accountId));
    // The process ends inside of submit: nothing after it runs.
    world.chain.submit = () => new Promise(() => undefined);
    void world.sign(old, request.id, request.message);
    await vi.waitFor(() => expect(store.rows.get(request.id)?.attemptId).not.toBeNull());

    world.clock.advance(ATTEMPT_TIMEOUT_MS - 1);
    await world.sweep();
    expect(store.rows.get(request.id)?.attemptId).not.toBeNull();
    world.clock.advance(1);
    await world.sweep();
    expect(store.rows.get(request.id)).toMatchObject({ status: "pending", attemptId: null });
    world.clock.advance(LIFE_MS);
    await world.sweep();
    expect(store.rows.get(request.id)?.status).toBe("expired");
  });

  it("asks again later where the account service does not answer", async () => {
    const old = await world.device(v7());
    const { request } = await world.open(world.enrollmentRequest(old.device.accountId));
    world.chain.submission = "lost";
    await expect(world.sign(old, request.id, request.message)).rejects.toMatchObject(refused("Unavailable"));
    world.chain.down = true;
    await world.sweep();
    world.chain.down = false;
    await world.sweep();
    expect(store.rows.get(request.id)?.status).toBe("pending");
    world.clock.advance(5000);
    await world.sweep();
    expect(store.rows.get(request.id)?.status).toBe("approved");
  });

  it("forgets after thirty days", async () => {
    const accountId = v7();
    await world.open(world.enrollmentRequest(accountId));
    world.clock.advance(LIFE_MS + 30 * 24 * 60 * 60 * 1000 + 1);
    const runs: Parameters<ServiceRuntime["every"]>[2][] = [];
    startTwoFactorJobs((_ms, _job, run) => void runs.push(run), { ...world.ports, logger: silentLogger });
    for (const run of runs) await run(new AbortController().signal);
    expect(store.rows.size).toBe(0);
    expect(store.events.map(({ status }) => status)).toEqual(["pending", "expired"]);
  });
});

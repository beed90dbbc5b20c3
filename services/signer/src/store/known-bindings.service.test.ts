import type { Postgres, Statement } from "@countersign/postgres";
import { describe, expect, it } from "vitest";
import { beginRotation, bound } from "../testing/binding-fixture.ts";
import { clock, postgres } from "../testing/store-fixture.ts";
import { postgresBindingStore } from "./postgres-binding-store.ts";

describe("bindings that are remembered", () => {
  it("end on every replica before a rotation can be on chain, and are not remembered while it is under way", async () => {
    const [one, other] = [postgresBindingStore(postgres), postgresBindingStore(postgres)];
    const binding = await bound();
    const versionOf = async (replica: typeof one) => (await replica.find(binding.accountId))[0]?.serverKeyVersion;
    // Remembered as late as possible: until just after the rotation is recorded.
    const asking = setInterval(() => void other.find(binding.accountId), 20);
    expect([await versionOf(one), await versionOf(other)]).toEqual([1, 1]);
    await beginRotation(binding, 2, one);
    clearInterval(asking);
    expect((await other.find(binding.accountId))[0]?.rotatingTo).toBe(2);
    await one.appendVersion(binding, { index: 2, version: 2 }, clock.now());
    // At once: what rotates is read from the database each time.
    expect([await versionOf(one), await versionOf(other)]).toEqual([2, 2]);
    const indexOf = async (replica: typeof one) => (await replica.find(binding.accountId))[0]?.serverKeyIndex;
    await one.moveVersion(binding, { index: 5, version: 2 });
    await expect.poll(() => indexOf(other), { timeout: 4_000 }).toBe(5);
    await one.takeBackVersion(binding, 2);
    await expect.poll(() => versionOf(other), { timeout: 4_000 }).toBe(1);
  });

  it("are read once for any number of requests at once, and once more for requests after a change", async () => {
    const binding = await bound();
    let reads = 0;
    const counting: Postgres = {
      ...postgres,
      query(statement) {
        reads += 1;
        return postgres.query(statement);
      },
    };
    const store = postgresBindingStore(counting);
    const ask = (times: number) => Promise.all(Array.from({ length: times }, () => store.find(binding.accountId)));
    const early = ask(5);
    expect(reads).toBe(1);
    store.forget(binding.accountId);
    const late = ask(5);
    expect(reads).toBe(2);
    expect(new Set([...(await early), ...(await late)].flat().map(({ address }) => address))).toEqual(
      new Set([binding.address]),
    );
    await ask(5);
    expect(reads).toBe(2);
  });

  it("that are being read during a change are not remembered", async () => {
    const binding = await bound();
    const [hasRead, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow: Postgres = {
      ...postgres,
      async query<Row>(statement: Statement) {
        const rows = await postgres.query<Row>(statement);
        hasRead.resolve();
        await gate.promise;
        return rows;
      },
    };
    const store = postgresBindingStore(slow);
    const before = store.find(binding.accountId);
    await hasRead.promise;
    await beginRotation(binding, 2);
    store.forget(binding.accountId);
    gate.resolve();
    await before;
    expect(await store.find(binding.accountId)).toMatchObject([{ rotatingTo: 2 }]);
  });

  it("are asked for again where they could not be read", async () => {
    const binding = await bound();
    let broken = true;
    const flaky: Postgres = {
      ...postgres,
      query: (statement) => (broken ? Promise.reject(new Error("gone")) : postgres.query(statement)),
    };
    const store = postgresBindingStore(flaky);
    await expect(Promise.all([store.find(binding.accountId), store.find(binding.accountId)])).rejects.toThrow("gone");
    broken = false;
    expect(await store.find(binding.accountId)).toMatchObject([{ address: binding.address }]);
  });
});

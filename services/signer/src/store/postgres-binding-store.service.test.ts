import { newTrace, parseTraceParent } from "@countersign/core";
import { generateKeyPair } from "@countersign/keys/node";
import { withTraces } from "@countersign/local-stack/testing/with-traces.ts";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { describe, expect, it } from "vitest";
import { bindAddress } from "../domain/bind-address.ts";
import type { Binding } from "../policy/account.ts";
import type { ChainPolicy } from "../policy/chain.ts";
import { beginRotation, chainName, newAddress, someBinding } from "../testing/binding-fixture.ts";
import { clock, postgres, prisma } from "../testing/store-fixture.ts";
import { postgresBindingStore } from "./postgres-binding-store.ts";
import { postgresSignedCreations } from "./postgres-signed-creations.ts";

describe("bindings", () => {
  const policy = {
    paymaster: { address: "f3fcd2c1a78f5eee" },
    creator: { address: "e03daebed8ca0615" },
  } as ChainPolicy;
  const signedCreations = () => postgresSignedCreations(postgres);
  const userKey = generateKeyPair().publicKey;
  const creationSigned = (on: string, accountIds: readonly string[], serverKeyVersion: number) => {
    const accounts = accountIds.map((accountId) => ({ accountId, userKey }));
    return signedCreations().record({ chainName: on, serverKeyVersion, accounts }, clock.now());
  };
  /** Binds an account whose creation was signed. */
  const bind = () => {
    const command = bindAddress({
      bindings: postgresBindingStore(postgres),
      signedCreations: signedCreations(),
      clock,
      chain: () => policy,
    });
    return async (binding: Binding, requestId: string) => {
      await creationSigned(chainName, [binding.accountId], binding.serverKeyVersion);
      return command(binding, requestId);
    };
  };
  const conflict = { reason: "SigningRefused", metadata: { reason: "BindingConflict" } };

  it("are written once, however often and by however many", async () => {
    const binding = someBinding();
    await Promise.all(Array.from({ length: 6 }, () => bind()(binding, "")));
    expect(await postgresBindingStore(postgres).find(binding.accountId)).toEqual([
      { ...binding, boundAt: clock.now() },
    ]);
    const subject = `cs.v1.signer.${binding.accountId}.address-bound`;
    expect(await prisma.outbox.count({ where: { subject } })).toBe(1);
    await expect(bind()({ ...binding, address: newAddress() }, "")).rejects.toMatchObject(conflict);
  });

  it("of one creation are written together: those in conflict are left out, each other one has its event", async () => {
    const store = postgresBindingStore(postgres);
    const taken = someBinding();
    await store.insert(taken, { now: clock.now(), requestId: "" });
    const [free, twice, one, another] = [someBinding(), someBinding(), someBinding(), someBinding()];
    const all = [
      free,
      free,
      taken,
      twice,
      { ...twice, address: newAddress() },
      one,
      { ...another, address: one.address },
    ];
    const ofTaken = someBinding({ address: taken.address });
    const asked = [...all, ofTaken];
    const results = await Promise.all(asked.map((each) => store.insert(each, { now: clock.now(), requestId: "r" })));
    const stands = asked.map(({ address }, i) => results[i]?.address === address);
    expect(stands.slice(0, 3)).toEqual([true, true, true]);
    // One address of an account, and one account of an address.
    expect([stands[3] !== stands[4], stands[5] !== stands[6], stands[7]]).toEqual([true, true, false]);
    for (const { accountId, address } of asked.filter((_, i) => stands[i])) {
      expect(await store.findCurrent(accountId)).toMatchObject([{ address }]);
      const subject = `cs.v1.signer.${accountId}.address-bound`;
      expect(await prisma.outbox.count({ where: { subject } })).toBe(1);
    }
    const refused = [stands[5] ? another : one, ofTaken];
    for (const { accountId } of refused) expect(await store.findCurrent(accountId)).toEqual([]);
  });

  it("of one creation have events in the traces of their own requests", async () => {
    const store = postgresBindingStore(postgres);
    const all = Array.from({ length: 3 }, () => ({ binding: someBinding(), trace: newTrace() }));
    await withTraces(async (inTrace) => {
      const insert = (binding: Binding) => store.insert(binding, { now: clock.now(), requestId: "" });
      await Promise.all(all.map(({ binding, trace }) => inTrace(trace, () => insert(binding))));
    });
    for (const { binding, trace } of all) {
      const { payload } = await prisma.outbox.findFirstOrThrow({ where: { accountId: binding.accountId } });
      expect(parseTraceParent(Event.decode(payload).traceparent)?.traceId).toBe(trace.traceId);
    }
  });

  it("of two versions at once one stands, which is the answer to both", async () => {
    const store = postgresBindingStore(postgres);
    const versions = Array.from({ length: 10 }, () => someBinding()).flatMap((each) => [
      each,
      { ...each, serverKeyVersion: 2 },
    ]);
    const answers = await Promise.all(versions.map((each) => store.insert(each, { now: clock.now(), requestId: "" })));
    for (const [i, { accountId }] of versions.entries()) {
      const [{ serverKeyVersion } = {}] = await store.findCurrent(accountId);
      expect(answers[i]).toMatchObject({ serverKeyVersion });
    }
  });

  it("have an address that is another account's on another chain, but none that was taken for a binding that is not written yet", async () => {
    const store = postgresBindingStore(postgres);
    const insert = (binding: Binding) => store.insert(binding, { now: clock.now(), requestId: "" });
    const [one, late] = [someBinding(), someBinding()];
    const elsewhere = someBinding({ address: one.address, chainName: "elsewhere" });
    for (const binding of [one, elsewhere]) expect(await insert(binding)).toEqual(binding);
    const { address, accountId } = late;
    await prisma.boundAddress.create({ data: { chainName, address, accountId } });
    await prisma.boundAddress.create({ data: { chainName: "elsewhere", address, accountId: one.accountId } });
    expect(await insert(someBinding({ address }))).toBeUndefined();
    expect(await insert(late)).toEqual(late);
  });

  it("of an account on two chains are each their own", async () => {
    const store = postgresBindingStore(postgres);
    const [one, other] = [someBinding(), someBinding()];
    const elsewhere = { ...one, chainName: "elsewhere", address: newAddress() };
    for (const binding of [one, other, elsewhere, one, elsewhere])
      expect(await store.insert(binding, { now: clock.now(), requestId: "" })).toMatchObject(binding);
    expect(await store.bound("elsewhere", [one.accountId, other.accountId])).toEqual([one.accountId]);
  });

  it("of two addresses at once one stands; an address is one account's", async () => {
    const one = someBinding();
    const other = { ...one, address: newAddress() };
    const results = await Promise.allSettled([bind()(one, ""), bind()(other, "")]);
    expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const [bound] = await postgresBindingStore(postgres).find(one.accountId);
    await expect(bind()(someBinding({ address: bound!.address }), "")).rejects.toMatchObject(conflict);
  });

  it("have a version of the server key with which a creation of the account was signed, also against a false report of the account service", async () => {
    const binding = someBinding({ serverKeyVersion: 2 });
    const command = bindAddress({
      bindings: postgresBindingStore(postgres),
      signedCreations: signedCreations(),
      clock,
      chain: () => policy,
    });
    await expect(command(binding, "")).rejects.toMatchObject(conflict);
    const other = someBinding();
    await creationSigned(chainName, [binding.accountId, other.accountId], 1);
    await creationSigned("another-chain", [binding.accountId], 2);
    await expect(command(binding, "")).rejects.toMatchObject(conflict);
    // The first one was too old to run, and was made again after the rotation.
    await Promise.all([1, 2].map(() => creationSigned(chainName, [binding.accountId], 2)));
    await expect(command({ ...binding, serverKeyVersion: 3 }, "")).rejects.toMatchObject(conflict);
    await command(binding, "");
    await command(binding, "");
    await expect(command({ ...binding, serverKeyVersion: 1 }, "")).rejects.toMatchObject(conflict);
    const found = await postgresBindingStore(postgres).find(binding.accountId);
    expect(found).toMatchObject([{ serverKeyIndex: 0, serverKeyVersion: 2 }]);
    expect(found[0]).not.toHaveProperty("retired");
  });

  it("that exist already are accepted again, as they were bound", async () => {
    const binding = someBinding();
    const bindings = postgresBindingStore(postgres);
    await creationSigned(chainName, [binding.accountId], binding.serverKeyVersion);
    await bindings.insert(binding, { now: clock.now(), requestId: "" });
    const command = bindAddress({ bindings, signedCreations: signedCreations(), clock, chain: () => policy });
    await command(binding, "");
    for (const change of [{ address: newAddress() }, { serverKeyIndex: 1 }, { serverKeyVersion: 2 }])
      await expect(command({ ...binding, ...change }, "")).rejects.toMatchObject(conflict);
    // As it was bound, with its first key.
    await beginRotation(binding, 2, bindings);
    await bindings.appendVersion(binding, { index: 2, version: 2 }, clock.now());
    await command(binding, "");
    await expect(command({ ...binding, serverKeyIndex: 2, serverKeyVersion: 2 }, "")).rejects.toMatchObject(conflict);
    const subject = `cs.v1.signer.${binding.accountId}.address-bound`;
    expect(await prisma.outbox.count({ where: { subject } })).toBe(1);
  });

  it("never name the paymaster or the creator", async () => {
    for (const { address } of [policy.paymaster, policy.creator]) {
      await expect(bind()(someBinding({ address }), "")).rejects.toMatchObject(conflict);
    }
  });
});

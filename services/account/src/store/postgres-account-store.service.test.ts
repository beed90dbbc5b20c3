import { uuidv4, uuidv7 } from "@countersign/core";
import { generateKeyPair } from "@countersign/keys/node";
import type { Postgres, Queries } from "@countersign/postgres";
import { describe, expect, it } from "vitest";
import { accounts, chainName, clock, creations, lease, newDeployment, stateOf } from "../testing/deployments.ts";
import { postgres, prisma } from "../testing/store-fixture.ts";
import { postgresChainReadings } from "./chain-readings.ts";
import { postgresCreationStore } from "./postgres-creation-store.ts";

describe("deployments", () => {
  it("queued twice at once are one; another key changes nothing", async () => {
    const command = newDeployment();
    const other = { ...command, userKey: generateKeyPair().publicKey };
    expect(await accounts().queue(command, clock.now())).toBeUndefined();
    const answers = await Promise.all([command, command, other].map((each) => accounts().queue(each, clock.now())));
    for (const answer of answers)
      expect(answer?.deployment).toMatchObject({ state: "queued", userKey: command.userKey });
  });

  it.each([
    ["queued", "cancelled"],
    ["failed", "cancelled"],
    ["cancelled", "cancelled"],
    ["assigned", "assigned"],
    ["deployed", "deployed"],
  ])("that is %s is %s after a cancellation, and a cancelled one is never queued again", async (state, after) => {
    const command = newDeployment();
    await accounts().queue(command, clock.now());
    await prisma.deployment.updateMany({ where: { accountId: command.accountId }, data: { state } });
    expect(await accounts().cancel(command, clock.now())).toBe(after);
    const found = await accounts().queue(command, clock.now());
    expect(found?.deployment?.state).toBe(after);
    expect(await creations().assign(chainName, lease())).toBeUndefined();
  });

  it("that nobody asked for yet is cancelled too: a request may be on its way", async () => {
    const command = newDeployment();
    expect(await accounts().cancel(command, clock.now())).toBe("cancelled");
    expect((await accounts().queue(command, clock.now()))?.deployment?.state).toBe("cancelled");
  });

  it("is assigned or cancelled at once, never both", async () => {
    for (let round = 0; round < 10; round++) {
      const command = newDeployment();
      await accounts().queue(command, clock.now());
      const [state, creation] = await Promise.all([
        accounts().cancel(command, clock.now()),
        creations().assign(chainName, lease()),
      ]);
      expect(state === "cancelled").toBe(creation === undefined);
      expect(await stateOf(command.accountId)).toBe(creation === undefined ? "cancelled" : "assigned");
      await prisma.deployment.deleteMany();
      await prisma.creation.deleteMany();
      await prisma.proposalKey.updateMany({ data: { creationId: null } });
    }
  });

  it("cancelled while they are being assigned are left out; those of another chain stay as they are", async () => {
    const whileAssigning = (cancelled: ReturnType<typeof newDeployment>) => {
      const withCancellation = (tx: Queries): Queries => ({
        ...tx,
        async execute(statement) {
          if (statement.text.includes("INSERT INTO creation")) await accounts().cancel(cancelled, clock.now());
          return tx.execute(statement);
        },
      });
      const transaction: Postgres["transaction"] = (work) => postgres.transaction((tx) => work(withCancellation(tx)));
      return postgresCreationStore({ ...postgres, transaction }, { transactionUrl: () => "" });
    };
    const [kept, left] = [newDeployment(), newDeployment()];
    const elsewhere = { ...kept, chainName: "flow-other" };
    for (const each of [left, kept, elsewhere]) await accounts().queue(each, clock.now());
    const { id, accountIds } = (await whileAssigning(left).assign(chainName, lease()))!;
    expect(accountIds).toEqual([kept.accountId]);
    expect(await prisma.creation.findUnique({ where: { id } })).toMatchObject({ accountIds });
    expect(await stateOf(left.accountId)).toBe("cancelled");
    const ofOther = await accounts().find(kept.accountId, "flow-other");
    expect(ofOther?.deployment?.state).toBe("queued");

    const only = newDeployment();
    await accounts().queue(only, clock.now());
    expect(await whileAssigning(only).assign(chainName, lease())).toBeUndefined();
    expect(await prisma.proposalKey.count({ where: { creationId: { not: null } } })).toBe(1);
  });

  it("that wait, and creations under way, are counted by state with the age of the oldest", async () => {
    const { openSagas, watchedHeight } = postgresChainReadings(postgres);
    const open = async () => {
      const rows = await openSagas(chainName);
      return Object.fromEntries(rows.map(({ saga, state, count, oldest }) => [`${saga} ${state}`, [count, oldest]]));
    };
    const none = { "creation assigned": [0, 0], "creation signed": [0, 0], "server-key-rotation submitted": [0, 0] };
    expect(await open()).toMatchObject({ ...none, "deployment queued": [0, 0] });
    const at = (seconds: number) => new Date(Date.now() - seconds * 1_000);
    await accounts().queue(newDeployment(), at(60));
    await accounts().queue(newDeployment(), at(5));
    expect((await open())["deployment queued"]).toEqual([2, expect.closeTo(60, -1)]);
    expect(await creations().assign(chainName, lease(uuidv4(), at(30)))).toBeDefined();
    const states = await open();
    expect(states["deployment queued"]).toEqual([0, 0]);
    expect(states["creation assigned"]).toEqual([1, expect.closeTo(30, -1)]);
    expect((await openSagas("flow-other")).every(({ count }) => count === 0)).toBe(true);
    expect(await watchedHeight("flow-other")).toBeUndefined();
  });

  it("are found together, each with the chain that was asked for", async () => {
    const [one, other] = [newDeployment(), newDeployment()];
    for (const each of [one, other]) await accounts().queue(each, clock.now());
    const store = accounts();
    const asked = [
      [one.accountId, chainName],
      [uuidv7(clock), chainName],
      [other.accountId, chainName],
      [one.accountId, ""],
      [one.accountId, chainName],
    ] as const;
    const found = await Promise.all(asked.map(([accountId, on]) => store.find(accountId, on)));
    expect(found.map((each) => [each?.account.id, each?.deployment?.userKey])).toEqual([
      [one.accountId, one.userKey],
      [undefined, undefined],
      [other.accountId, other.userKey],
      [one.accountId, undefined],
      [one.accountId, one.userKey],
    ]);
  });

  it("that have ended are found for all who wait, each chain by itself", async () => {
    const [one, other] = [newDeployment(), newDeployment()];
    const elsewhere = { ...one, chainName: "flow-other" };
    for (const each of [one, other, elsewhere]) await accounts().queue(each, clock.now());
    const ended = async () => {
      const found = await accounts().findEnded([one, other, elsewhere]);
      return found.map(({ accountId, chainName: on }) => [accountId, on]);
    };
    expect(await ended()).toEqual([]);
    const setState = (accountId: string, on: string, state: string) =>
      prisma.deployment.update({ where: { accountId_chainName: { accountId, chainName: on } }, data: { state } });
    await setState(one.accountId, chainName, "deployed");
    await setState(other.accountId, chainName, "assigned");
    expect(await ended()).toEqual([[one.accountId, chainName]]);
    await setState(elsewhere.accountId, "flow-other", "failed");
    expect(await ended()).toHaveLength(2);
    expect(await accounts().findEnded([other])).toEqual([]);
  });
});

describe("parents", () => {
  it("are replaced, with one event per change, and move updatedAt with it", async () => {
    const command = newDeployment();
    await accounts().queue(command, clock.now());
    const parent = { chainName, chainType: "cadence" as const, address: "179b6b1cb6755e31", chainId: 646 };
    const later = (minutes: number) => new Date(clock.now().getTime() + minutes * 60_000);
    const emitted = async () =>
      (await prisma.outbox.findMany({ where: { subject: { contains: command.accountId } } })).length;
    const found = async () => (await accounts().find(command.accountId, ""))!.account;
    const other = newDeployment();
    await accounts().queue(other, clock.now());
    await accounts().setParents(other.accountId, [parent], later(0));

    await Promise.all([1, 1, 1].map((minutes) => accounts().setParents(command.accountId, [parent], later(minutes))));
    expect(await found()).toMatchObject({ parents: [parent], updatedAt: later(1) });
    await accounts().setParents(command.accountId, [parent], later(2));
    expect((await found()).updatedAt).toEqual(later(1));
    expect(await emitted()).toBe(1);
    await accounts().setParents(command.accountId, [], later(3));
    expect(await found()).toMatchObject({ parents: [], updatedAt: later(3) });
    const store = accounts();
    const both = await Promise.all([command, other].map(({ accountId }) => store.find(accountId, "")));
    expect(both.map((each) => each?.account.parents)).toEqual([[], [parent]]);
    expect(await emitted()).toBe(2);
  });
});

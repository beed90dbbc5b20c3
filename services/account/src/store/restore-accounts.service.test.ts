import { uuidv4, uuidv7 } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { generateKeyPair } from "@countersign/keys/node";
import { beforeAll, beforeEach, expect, it } from "vitest";
import { postgres, prisma } from "../testing/store-fixture.ts";
import { postgresAccountStore } from "./postgres-account-store.ts";
import { ensureProposalKeys, postgresCreationStore } from "./postgres-creation-store.ts";
import { emitAlertsAgain, restoreAccounts, rewindHeights } from "./restore-accounts.ts";

const clock = new FixedClock("2026-11-20T10:00:00Z");
const chainName = "flow-emulator";
beforeAll(async () => {
  await ensureProposalKeys(prisma, chainName, 1);
});
beforeEach(async () => {
  await prisma.proposalKey.updateMany({ data: { creationId: null } });
  await prisma.deployment.deleteMany();
});

let addresses = 0;
const newDeployment = () => ({
  ...{ accountId: uuidv7(clock), chainName, userKey: generateKeyPair().publicKey, profileImageUrl: "" },
});
const onChain = ({ accountId, userKey }: ReturnType<typeof newDeployment>) => {
  addresses += 1;
  const address = addresses.toString(16).padStart(16, "0");
  const evmAddress = `0x${address.padStart(40, "0")}`;
  const key = { algorithm: "ES256" as const, publicKey: userKey.publicKey };
  return {
    accountId,
    chainName,
    userKey: key,
    address,
    evmAddress,
    transactionId: address.repeat(4),
    serverKeyIndex: 0,
    serverKeyVersion: 1,
  };
};
const accounts = () => postgresAccountStore(prisma, postgres);
const creations = () => postgresCreationStore(postgres, { transactionUrl: () => "" });
const lease = () => ({ owner: uuidv4(), now: clock.now(), until: new Date(clock.now().getTime() + 15_000) });
const restoring = (found: readonly ReturnType<typeof onChain>[]) =>
  prisma.$transaction((tx) => restoreAccounts(tx, found, { chainName, evmChainId: 646, now: clock.now() }));

it("an account that is on chain is not created again, whether its sign-up was lost, waited or was assigned", async () => {
  const [lost, assigned, waiting] = [newDeployment(), newDeployment(), newDeployment()];
  await accounts().queue(assigned, clock.now());
  await creations().assign(chainName, lease());
  await accounts().queue(waiting, clock.now());
  const all = [lost, assigned, waiting].map(onChain);
  expect(await restoring(all)).toEqual({ added: 3, requeued: 0 });
  expect(await restoring(all)).toEqual({ added: 0, requeued: 0 });
  for (const command of [lost, assigned, waiting]) {
    // auth's sign-up goes on: the request that would create it.
    const { account, deployment } = (await accounts().queue(command, clock.now()))!;
    expect([deployment?.state, account.addresses.length]).toEqual(["deployed", 2]);
  }
  expect(await creations().assign(chainName, lease())).toBeUndefined();
});

it("a deployment whose creation is not on chain begins again, with the creation's key", async () => {
  const command = newDeployment();
  await accounts().queue(command, clock.now());
  const before = await creations().assign(chainName, lease());
  expect(await creations().assign(chainName, lease())).toBeUndefined();
  expect(await restoring([])).toEqual({ added: 0, requeued: 1 });
  const again = await creations().assign(chainName, lease());
  expect(again).toMatchObject({ keyIndex: before!.keyIndex, accountIds: [command.accountId] });
});

it("a creation that was committed as signed keeps its accounts: it finds them on chain itself", async () => {
  const command = newDeployment();
  await accounts().queue(command, clock.now());
  const owner = lease();
  const creation = await creations().assign(chainName, owner);
  const found = onChain(command);
  const { transactionId } = found;
  await prisma.creation.update({ where: { id: creation!.id }, data: { state: "signed", transactionId } });
  expect(await restoring([found])).toEqual({ added: 0, requeued: 0 });
  expect((await accounts().find(command.accountId, chainName))?.deployment?.state).toBe("assigned");
  // Another transaction created it, which was lost: this one fails on chain, and must not create it again.
  expect(await restoring([{ ...found, transactionId: "ab".repeat(32) }])).toEqual({ added: 1, requeued: 0 });
  const failed = { id: creation!.id, owner: owner.owner };
  await creations().failed(failed.id, failed.owner, { requeueWithLimit: 1 }, "sequence number");
  expect((await accounts().find(command.accountId, chainName))?.deployment?.state).toBe("deployed");
});

it("a signed creation whose accounts the restore has recorded ends when it finds them itself", async () => {
  const command = newDeployment();
  await accounts().queue(command, clock.now());
  const { owner, ...until } = lease();
  const { id } = (await creations().assign(chainName, { owner, ...until }))!;
  await prisma.creation.update({ where: { id }, data: { state: "signed", transactionId: "cd".repeat(32) } });
  const found = onChain(command);
  await restoring([found]);
  expect(await creations().sealed(id, owner, [found], { evmChainId: 646, now: clock.now() })).toBe(true);
  const { account, deployment } = (await accounts().find(command.accountId, chainName))!;
  expect([deployment?.state, account.addresses.map(({ address }) => address)]).toEqual([
    "deployed",
    [found.address, found.evmAddress],
  ]);
  expect(await prisma.proposalKey.count({ where: { creationId: null } })).toBe(1);
});

it("sequence numbers that keys remember are forgotten: the chain has gone on", async () => {
  await prisma.proposalKey.updateMany({ data: { nextSequenceNumber: 5n } });
  await restoring([]);
  expect((await prisma.proposalKey.findFirst())?.nextSequenceNumber).toBeNull();
});

it("of one chain changes nothing of another one, and records the accounts of a creation that had failed here", async () => {
  await ensureProposalKeys(prisma, "flow-other", 1);
  await accounts().queue({ ...newDeployment(), chainName: "flow-other" }, clock.now());
  const { id } = (await creations().assign("flow-other", lease()))!;
  const key = { chainName: "flow-other", creationId: id, nextSequenceNumber: 5n };
  await prisma.proposalKey.updateMany({ where: { creationId: id }, data: key });
  const found = onChain(newDeployment());
  await accounts().queue(newDeployment(), clock.now());
  const holder = lease();
  const failed = (await creations().assign(chainName, holder))!;
  await creations().failed(failed.id, holder.owner, { requeueWithLimit: 1 }, "sequence number");
  await prisma.creation.update({ where: { id: failed.id }, data: { transactionId: found.transactionId } });
  expect(await restoring([found])).toEqual({ added: 1, requeued: 0 });
  expect(await prisma.creation.findUnique({ where: { id } })).toMatchObject({ state: "assigned" });
  expect(await prisma.proposalKey.findFirst({ where: { chainName: "flow-other" } })).toMatchObject(key);
});

it("chains are read again from an earlier block on, and never from a later one", async () => {
  const row = { chainName, leaseOwner: uuidv4(), leaseUntil: clock.now() };
  await prisma.keyWatch.create({ data: { ...row, height: 70n } });
  await prisma.budgetSettlement.create({ data: { ...row, height: 40n } });
  await prisma.keyWatch.create({ data: { ...row, chainName: "flow-other", height: 90n } });
  await rewindHeights(prisma, [{ chainName, from: 50n }]);
  expect(await prisma.keyWatch.count({ where: { height: 90n } })).toBe(1);
  expect((await prisma.keyWatch.findUnique({ where: { chainName } }))?.height).toBe(50n);
  expect((await prisma.budgetSettlement.findFirst())?.height).toBe(40n);
});

it("all alerts since are emitted again, once each, however many they are", async () => {
  const accountId = uuidv7(clock);
  const alerts = Array.from({ length: 1_001 }, (_, eventIndex) => {
    const of = { chainName, transactionId: "ab".repeat(32), eventIndex, eventType: "e", height: 1n, kind: "keys" };
    return { id: uuidv7(clock), accountId, ...of, freezes: true, raisedAt: clock.now() };
  });
  const earlier = { ...alerts[0]!, id: uuidv7(clock), eventIndex: 2_000, raisedAt: new Date(0) };
  await prisma.chainAlert.createMany({ data: [earlier, ...alerts] });
  for (let round = 0; round < 2; round += 1) expect(await emitAlertsAgain(prisma, clock.now())).toBe(1_001);
  const emitted = await prisma.outbox.findMany({ where: { accountId }, select: { id: true } });
  expect(new Set(emitted.map(({ id }) => id))).toEqual(new Set(alerts.map(({ id }) => id)));
});

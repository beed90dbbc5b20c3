import { uuidv7 } from "@countersign/core";
import { generateKeyPair } from "@countersign/keys/node";
import { type Queries, sql } from "@countersign/postgres";
import { describe, expect, it } from "vitest";
import { decideSignUp } from "../domain/sign-up/sign-up.ts";
import { type LeaseSignUp, SIGN_UP_STEPS } from "../domain/sign-up/sign-up-saga.ts";
import { commandOf } from "../testing/sign-up-command.ts";
import { clock, now, person, postgres, prisma, times } from "../testing/store-fixture.ts";
import { waitsForAccount } from "../testing/waits-for-account.ts";
import { postgresSignUpStore } from "./postgres-sign-up-store.ts";
import { prismaAccessStore } from "./prisma-access-store.ts";
import { prismaHoldStore } from "./prisma-hold-store.ts";

const store = () => postgresSignUpStore(prisma, postgres);
const lease = (command: LeaseSignUp) => store().lease(command, decideSignUp);

it("a further chain only from the account's own session, with that session's key", async () => {
  const profile = person();
  const command = commandOf(profile);
  const first = await lease(command);
  if (first.kind !== "drive") throw new Error(first.kind);
  const { accountId } = first.saga;
  const further = { chainName: "flow-other", accountKey: command.accountKey };
  const session = { accountId, accountKey: command.accountKey, deviceKey: command.accountKey };
  expect((await lease(commandOf(profile, further))).kind).toBe("account-exists");
  const strange = { ...session, accountId: uuidv7(clock) };
  expect((await lease(commandOf(profile, { ...further, session: strange }))).kind).toBe("account-exists");
  expect((await lease(commandOf(profile, { chainName: "flow-other", session }))).kind).toBe("account-exists");
  const strangeDevice = { ...further, deviceKey: generateKeyPair().publicKey, session };
  expect((await lease(commandOf(profile, strangeDevice))).kind).toBe("account-exists");
  expect(await lease(commandOf(profile, { ...further, session }))).toMatchObject({
    kind: "drive",
    saga: { accountId },
  });
});

it("an unfinished further chain is resumed by a login alone only until the account is complete elsewhere", async () => {
  const command = commandOf(person());
  const { profile, newAccountId: accountId, accountKey, deviceKey } = command;
  const first = await lease(command);
  const saga = first.kind === "drive" ? first.saga : expect.unreachable();
  const session = { accountId, accountKey, deviceKey };
  const further = commandOf(profile, { chainName: "flow-other", accountKey, session });
  // The keys are on chain, where everybody reads them.
  const login = { ...further, session: undefined };
  for (const each of [further, login]) expect((await lease(each)).kind).toBe("drive");
  await store().mark(saga, SIGN_UP_STEPS, now);
  expect(await lease(login)).toEqual({ kind: "account-exists", isOnChain: false });
  expect((await lease(further)).kind).toBe("drive");
  expect(await lease({ ...login, chainName: "flow-emulator" })).toEqual({ kind: "account-exists", isOnChain: true });
});

it("a further chain that is requested many times at once begins once", async () => {
  const profile = person();
  const command = commandOf(profile);
  const first = await lease(command);
  if (first.kind !== "drive") throw new Error(first.kind);
  const { accountId } = first.saga;
  const session = { accountId, accountKey: command.accountKey, deviceKey: command.accountKey };
  const further = commandOf(profile, { chainName: "flow-other", accountKey: command.accountKey, session });
  const leased = await Promise.all(times(10, () => lease({ ...further, newAccountId: uuidv7(clock) })));
  expect(leased).toEqual(times(10, () => expect.objectContaining({ kind: "drive" })));
  expect(await prisma.signUp.count({ where: { accountId } })).toBe(2);
});

describe("a further chain, whose token still counts for a moment", () => {
  const further = async () => {
    const command = commandOf(person(), { deviceKey: generateKeyPair().publicKey });
    const { profile, newAccountId: accountId, accountKey, deviceKey } = command;
    await lease(command);
    const session = { accountId, accountKey, deviceKey };
    return { accountId, deviceKey, command: commandOf(profile, { chainName: "flow-other", ...session, session }) };
  };
  const begun = (accountId: string) => prisma.signUp.count({ where: { accountId, chainName: "flow-other" } });

  it("is not begun by a device that was removed, nor once the account has left", async () => {
    const refused = { kind: "refused", reason: "PleaseRegisterKey" };
    const removed = await further();
    const { accountId, deviceKey } = removed;
    await prismaAccessStore(prisma).cutOff({ accountId, deviceKey, removedAt: now, requestId: "r" });
    const left = await further();
    await prismaAccessStore(prisma).leave({ accountId: left.accountId, leftAt: now, requestId: "r" });
    for (const each of [removed, left]) {
      expect(await lease(each.command)).toEqual(refused);
      expect(await begun(each.accountId)).toBe(0);
    }
  });

  it("is not begun while the account is frozen or held", async () => {
    const frozen = await further();
    const { accountId, deviceKey } = frozen;
    const key = { deviceKeyAlgorithm: deviceKey.algorithm, deviceKey: deviceKey.publicKey };
    await prisma.frozenAccount.create({ data: { accountId, ...key, frozenAt: now } });
    const held = await further();
    const hold = { alertId: uuidv7(clock), chainName: "", transactionId: "", eventType: "flow.AccountKeyAdded" };
    await prismaHoldStore(prisma).place({ ...hold, accountId: held.accountId }, now);
    for (const each of [frozen, held]) {
      expect(await lease(each.command)).toEqual({ kind: "refused", reason: "AccountFrozen" });
      expect(await begun(each.accountId)).toBe(0);
    }
    await prisma.frozenAccount.delete({ where: { accountId } });
    expect((await lease(frozen.command)).kind).toBe("drive");
  });

  it("is begun before its device is removed, or not at all", async () => {
    const { accountId, deviceKey, command } = await further();
    const leased: unknown[] = [];
    const leasing = async () => leased.push(await lease(command));
    const { algorithm, publicKey } = deviceKey;
    const removing = (tx: Queries) =>
      tx.execute(sql`
        INSERT INTO blocked_key (account_id, algorithm, public_key) VALUES (${accountId}::uuid, ${algorithm}, ${publicKey})`);
    expect(await waitsForAccount(accountId, leasing, removing)).toBe(true);
    expect(leased).toEqual([{ kind: "refused", reason: "PleaseRegisterKey" }]);
  });
});

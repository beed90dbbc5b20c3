import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ProblemError, signTransaction } from "@countersign/client";
import {
  addedKeys,
  createAccessApi,
  type FlowTransaction,
  type TransactionPayload,
  transactionId,
} from "@countersign/flow";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { query } from "./books.ts";
import { faultPointsOf } from "./fault-points.ts";
import { type FaultStack, startFaultStack } from "./fault-stack.ts";
import { completePerson, createPerson, type Person, persist, signUp, untilComplete } from "./person.ts";

const SCRIPT = "transaction { prepare(account: &Account) {} }";
/** The emulator's price of a transaction: less than the policy's price of an inclusion is not believed. */
const PRICES = { "flow-emulator": { inclusionFlow: 0.00001, computationFlow: 0.00004 } };
/** A transaction with a gas limit of 1000 reserves so much, in 10⁻⁸ FLOW; the budget suffices for two. */
const RESERVED = 4_001_000;
const BUDGET_FLOW = 0.1;
const MONTH = 31 * 86_400;
/** The wait before a refused creation is requested again; the default is a quarter of a minute. */
const REFUSED_RETRY_MS = 4_000;
const P256_ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

const dir = mkdtempSync(join(tmpdir(), "countersign-budgets-"));
let stack: FaultStack;
let person: Person;

const policyFile = join(dir, "policy.json");
/** Writes a policy that allows this many creations in a month, or none while creation is switched off. */
function writePolicy(version: string, accounts: number, creation = true): void {
  const policy = {
    version,
    mode: "standard",
    caps: { gasLimit: 9999 },
    switches: { authorizer: true, paymaster: true, creation },
    budgets: {
      account: [{ windowSeconds: MONTH, feesFlow: BUDGET_FLOW }],
      creation: [{ windowSeconds: MONTH, count: accounts }],
    },
    prices: PRICES,
  };
  writeFileSync(`${policyFile}.new`, JSON.stringify(policy));
  renameSync(`${policyFile}.new`, policyFile);
}

beforeAll(async () => {
  writePolicy("some-accounts", 10);
  const settings = { SIGNER_POLICY_FILE: policyFile, ACCOUNT_REFUSED_RETRY_MS: String(REFUSED_RETRY_MS) };
  stack = await startFaultStack(settings);
  person = await completePerson(stack.stack, 0, { idempotent: true });
}, 240_000);
// Replicas of a version that does not know the column use numbers and leave them there.
beforeEach(async () => {
  await query(stack.stack, "account", "UPDATE proposal_key SET next_sequence_number = NULL");
});

afterAll(async () => {
  await stack?.stop();
  rmSync(dir, { recursive: true, force: true });
}, 60_000);

/** Signs a transaction with a sequence number `ahead` of the chain's, requested by `by`; sends nothing. */
async function signed(ahead: number, by = person): Promise<FlowTransaction> {
  const { chainName, accessNode, paymaster } = stack.stack.chains[0]!;
  const access = createAccessApi({ baseUrl: accessNode });
  const { address } = person;
  const [block, key] = await Promise.all([access.latestSealedBlock(), access.accountKey(address, 1)]);
  const payload: TransactionPayload = {
    script: SCRIPT,
    arguments: [],
    referenceBlockId: block.id,
    gasLimit: 1000n,
    proposalKey: { address, keyId: 1, sequenceNumber: key.sequenceNumber + BigInt(ahead) },
    payer: paymaster.replace("0x", ""),
    authorizers: [address],
  };
  return persist(by, `sign ${payload.proposalKey.sequenceNumber}`, () =>
    signTransaction(by.client, payload, chainName),
  );
}

async function seal(transaction: FlowTransaction): Promise<void> {
  const access = createAccessApi({ baseUrl: stack.stack.chains[0]!.accessNode });
  const id = await access.submit(transaction);
  const result = await access.waitForSeal(id, { signal: AbortSignal.timeout(60_000) });
  expect(result).toMatchObject({ status: "Sealed", errorMessage: "" });
}

/** Returns the transaction with its other valid signature: the chain accepts s and n − s. */
function twin(transaction: FlowTransaction): FlowTransaction {
  const [payer] = transaction.envelopeSignatures;
  const s = BigInt(`0x${payer!.signature.slice(64)}`);
  const other = (P256_ORDER - s).toString(16).padStart(64, "0");
  return { ...transaction, envelopeSignatures: [{ ...payer!, signature: payer!.signature.slice(0, 64) + other }] };
}

const rowsOf = (accountId: string) =>
  query<{ fees: string; count: string }>(
    stack.stack,
    "signer",
    `SELECT fees, count FROM budget_usage WHERE budget LIKE 'account/${accountId}/%'`,
  );
const usedFees = async () => Number((await rowsOf(person.accountId))[0]?.fees ?? 0);
const isSettled = async ({ proposalKey: { address, keyId, sequenceNumber } }: FlowTransaction) => {
  const [row] = await query<{ settled_at: Date | null }>(
    stack.stack,
    "signer",
    `SELECT settled_at FROM budget_reservation WHERE proposal = '${address}/${keyId}/${sequenceNumber}'`,
  );
  return row?.settled_at instanceof Date;
};
const refusal = (work: Promise<unknown>) =>
  work.then(
    () => "signed",
    (error) => (error instanceof ProblemError ? `${error.status} ${error.error} ${error.reason}` : String(error)),
  );

/** Counts the verdicts in the records of creations. */
async function creationVerdicts(): Promise<Record<string, number>> {
  const sql = "SELECT verdict, count(*) AS n FROM audit_record WHERE operation = 'creation' GROUP BY verdict";
  const rows = await query<{ verdict: string; n: string }>(stack.stack, "signer", sql);
  return Object.fromEntries(rows.map(({ verdict, n }) => [verdict, Number(n)]));
}

it("accounts are created until their budget is used up; later sign-ups wait for the next budget, and none is lost", async () => {
  writePolicy("no-accounts", 0);
  // Both signers look at the file each second.
  await sleep(3_000);
  const [other, third] = [createPerson(stack.stack, 1), createPerson(stack.stack, 2)];
  const coming = Promise.all([other, third].map((one) => signUp(one, { idempotent: true })));
  coming.catch(() => undefined);
  await expect.poll(async () => (await creationVerdicts()).BudgetExceeded ?? 0, { timeout: 60_000 }).toBeGreaterThan(1);
  expect((await creationVerdicts()).signed).toBe(1);
  writePolicy("accounts-again", 10);
  await coming;
  for (const one of [other, third]) await untilComplete(one);
  const [usage] = await query<{ count: string }>(
    stack.stack,
    "signer",
    "SELECT count FROM budget_usage WHERE budget LIKE 'creation/all/%'",
  );
  expect(Number(usage!.count)).toBe(3);
}, 180_000);

it("while creation is switched off, sign-ups wait and are retried; once it is on again they continue where they were", async () => {
  writePolicy("switched-off", 10, false);
  await sleep(3_000);
  const signedBefore = (await creationVerdicts()).signed;
  const people = [createPerson(stack.stack, 0), createPerson(stack.stack, 1)];
  const started = performance.now();
  await Promise.all(people.map((one) => signUp(one, { idempotent: true })));
  const ids = people.map(({ accountId }) => `'${accountId}'`).join();
  const places = () =>
    query<{ account_id: string; state: string; batch_limit: number; creation_id: string }>(
      stack.stack,
      "account",
      `SELECT account_id, state, batch_limit, creation_id FROM deployment WHERE account_id IN (${ids}) ORDER BY account_id`,
    );
  const waiting = await places();
  expect(waiting).toHaveLength(2);
  for (const place of waiting) expect(place).toMatchObject({ state: "assigned", batch_limit: 10 });

  // Each creation is retried and refused more than once; meanwhile clients see an account without addresses.
  const creations = new Set(waiting.map((place) => place.creation_id)).size;
  const refusals = async () => (await creationVerdicts()).SwitchedOff ?? 0;
  await expect.poll(refusals, { timeout: 90_000 }).toBeGreaterThan(creations);
  expect(await refusals()).toBeLessThanOrEqual(creations * (1 + (performance.now() - started) / REFUSED_RETRY_MS));
  for (const one of people) {
    expect(await persist(one, "me", () => one.client.me())).toMatchObject({ id: one.accountId, addresses: [] });
    expect(await refusal(signed(0, one))).toMatch(/^409 AccountNotReady/);
  }
  expect(await places()).toEqual(waiting);
  expect((await creationVerdicts()).signed).toBe(signedBefore);

  writePolicy("switched-on", 10);
  for (const one of people) await untilComplete(one);
  expect(await places()).toEqual(waiting.map((place) => ({ ...place, state: "deployed" })));
  expect((await creationVerdicts()).signed).toBe(signedBefore! + creations);
}, 240_000);

it("an account whose creation has executed under another id is not created a second time", async () => {
  const signedBefore = (await creationVerdicts()).signed!;
  const access = createAccessApi({ baseUrl: stack.stack.chains[0]!.accessNode });
  let other: FlowTransaction | undefined;
  stack.controller.judge = async ({ point }) => {
    if (point !== "account/bytes committed" || other) return;
    const sql = "SELECT transaction FROM creation WHERE state = 'signed'";
    const [row] = await query<{ transaction: FlowTransaction }>(stack.stack, "account", sql);
    const { gasLimit, proposalKey, ...rest } = row!.transaction;
    // The row has integers as text.
    const sequenceNumber = BigInt(proposalKey.sequenceNumber);
    other = twin({ ...rest, gasLimit: BigInt(gasLimit), proposalKey: { ...proposalKey, sequenceNumber } });
    await seal(other);
  };
  const one = createPerson(stack.stack, 2);
  await signUp(one, { idempotent: true });
  await untilComplete(one);
  stack.controller.judge = undefined;
  const made = await access.transactionResult(transactionId(other!));
  expect(new Set(addedKeys(made!.events).map(({ address }) => address))).toEqual(new Set([one.address]));
  expect((await creationVerdicts()).signed).toBe(signedBefore + 1);
}, 120_000);

it("a sequence number that was used behind the services' back holds up no creation", async () => {
  await query(stack.stack, "account", "UPDATE proposal_key SET next_sequence_number = 0");
  const signedBefore = (await creationVerdicts()).signed!;
  const one = createPerson(stack.stack, 2);
  await signUp(one, { idempotent: true });
  await untilComplete(one);
  // Replicas of a version that asks the chain each time sign once.
  const signatures = (await creationVerdicts()).signed! - signedBefore;
  expect(process.env.CS_TEST_MIXED_WITH ? [1, 2] : [2]).toContain(signatures);
}, 120_000);

it("an exhausted budget refuses until the chain shows the real costs, also of a signature that was made twice", async () => {
  const first = await signed(0);
  await signed(1);
  expect(await usedFees()).toBe(2 * RESERVED);
  expect(await refusal(signed(2))).toBe("403 SigningRefused BudgetExceeded");
  // A repetition reserves nothing.
  expect(await refusal(signed(1))).toBe("signed");
  const [record] = await query<{ n: string }>(
    stack.stack,
    "signer",
    `SELECT count(*) AS n FROM audit_record WHERE account_id = '${person.accountId}' AND verdict = 'BudgetExceeded'`,
  );
  expect(Number(record!.n)).toBe(1);

  await seal(twin(first));
  await expect.poll(usedFees, { timeout: 60_000 }).toBeLessThan(RESERVED + 100_000);
  expect(await refusal(signed(1))).toBe("signed");
  expect(await refusal(signed(2))).toBe("403 SigningRefused BudgetExceeded");
}, 120_000);

it("books are exact after signer and account were killed at each place of a settlement", async () => {
  const { accessNode, paymaster } = stack.stack.chains[0]!;
  const access = createAccessApi({ baseUrl: accessNode });
  for (const point of faultPointsOf("settlement")) {
    for (const others of [false, true]) {
      const transaction = await signed(0);
      const standing = Promise.withResolvers<string>();
      stack.controller.judge = (reached) => {
        if (reached.point !== point) return;
        const found = Object.entries(stack.stack.processes).find(([, { pid }]) => pid === reached.pid);
        if (found) standing.resolve(found[0]);
        return new Promise<void>(() => undefined);
      };
      await seal(transaction);
      const there = await standing.promise;
      stack.controller.judge = undefined;
      // Kills the process that has reached the point, alone or with both replicas of the other program.
      const program = there.startsWith("account") ? "signer" : "account";
      const victims = others ? [there, program, `${program}-2`] : [there];
      await Promise.all(victims.map((victim) => stack.bounce(victim)));
      await stack.allUp();
      await expect.poll(() => isSettled(transaction), { timeout: 90_000, interval: 250 }).toBe(true);
    }
  }
  // The paymaster's costs on chain against the account's row: no other account has signed anything here.
  const { height } = await access.latestSealedBlock();
  const events = await access.events("A.0ae53cb6e3f42a79.FlowToken.TokensWithdrawn", 0n, height < 249n ? height : 249n);
  const paid = events.filter(({ fields }) => fields.from === paymaster);
  const sum = paid.reduce((total, { fields }) => total + Math.round(Number(fields.amount) * 1e8), 0);
  expect(paid.length).toBeGreaterThanOrEqual(5);
  expect(await usedFees()).toBe(sum);
}, 240_000);

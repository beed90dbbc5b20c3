import { strict as assert } from "node:assert";
import { isAppError } from "@countersign/errors";
import { signMessage } from "@countersign/keys/node";
import { FixedClock } from "@countersign/service-kit";
import fc from "fast-check";
import { v7 } from "uuid";
import type { DeviceStore } from "../domain/ports.ts";
import type { TwoFactor, TwoFactorStatus } from "../domain/two-factor.ts";
import type { TwoFactorStore } from "../domain/two-factor-ports.ts";
import { TRANSITIONS } from "../domain/two-factor-state.ts";
import { WRONG_APPROVALS } from "../domain/wrong-approvals.ts";
import { type Registered, type TwoFactorWorld, twoFactorWorld } from "./two-factor-world.ts";

type Submission = TwoFactorWorld["chain"]["submission"];
type Verification = TwoFactorWorld["chain"]["verification"];

/** Something that may happen to one of an account's requests, or to the world around. */
type Action =
  | { kind: "open" | "list" | "sweep" | "renew" | "reopen" }
  | { kind: "get" | "reject" | "finish" | "describe" | "wrong"; target: number }
  | { kind: "redirect"; target: number; device: number }
  | { kind: "sign"; target: number; device: number; outcome: Submission }
  | { kind: "report"; target: number; device: number; outcome: Verification }
  | { kind: "advance"; ms: number }
  | { kind: "chain"; does: "sealed" | "failed" | "down" | "up" };

/** What may be answered besides success. */
const REFUSALS: Record<Action["kind"], RegExp> = {
  // InvalidRequest: it was over before it was opened.
  open: /^(RateLimited|TwoFactorAuthClosed|ChainUnavailable|InvalidRequest)$/,
  get: /^$/,
  list: /^$/,
  describe: /^$/,
  sweep: /^$/,
  renew: /^$/,
  reopen: /^$/,
  advance: /^$/,
  chain: /^$/,
  reject: /^(TwoFactorAuthNotPending|Unavailable)$/,
  redirect: /^(TwoFactorAuthNotPending|Unavailable)$/,
  wrong: /^(TwoFactorAuthNotPending|Unavailable|InvalidSignature|RateLimited)$/,
  sign: /^(TwoFactorAuthNotPending|Unavailable|SigningRefused|MessageRenewed|RateLimited|Internal)$/,
  report: /^(TwoFactorAuthNotPending|Unavailable|ChainUnavailable|Transaction(Mismatch|Pending)|RateLimited)$/,
  finish: /^TwoFactorAuth(Pending|Rejected|Expired|Finished|Failed)$/,
};

interface Model {
  /** Rows in a final state, which must never change again. */
  final: Map<string, TwoFactor>;
  /** The deciding transactions. */
  results: Map<string, string>;
}

interface Real {
  world: TwoFactorWorld;
  accountId: string;
  devices: Registered[];
  opened: string[];
  /** Every step that was taken, as the store saw it. */
  steps: { id: string; from: TwoFactorStatus; to: TwoFactorStatus }[];
}

/** Writes down every step that a store takes; `pauses` turns of the event loop pass before it reads and steps. */
function recording(store: TwoFactorStore, steps: Real["steps"], pauses: Iterator<number>): TwoFactorStore {
  const pause = async () => {
    const turns = pauses.next().value ?? 0;
    for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  return {
    ...store,
    async find(accountId, id) {
      await pause();
      return store.find(accountId, id);
    },
    async take(id, step, context) {
      await pause();
      const row = await store.take(id, step, context);
      if (row) steps.push({ id, from: step.when.status, to: row.status });
      return row;
    },
  };
}

const pick = <T>(items: readonly T[], index: number): T => items[index % items.length]!;

async function perform(real: Real, action: Action): Promise<string | undefined> {
  const { world, accountId, devices, opened } = real;
  const { chain, clock } = world;
  const requestId = "model";
  const [first] = devices;
  const id = "target" in action ? pick(opened, action.target) : "";
  const of = { session: first!.session, id, requestId };
  try {
    switch (action.kind) {
      case "open":
        opened.push((await world.open(world.wish(accountId))).request.id);
        break;
      case "list":
        await world.list({ session: of.session, requestId });
        break;
      case "sweep":
        await world.sweep();
        break;
      case "renew":
        chain.renew();
        break;
      case "reopen":
        await world.reopen(of);
        break;
      case "get":
        await world.get(of);
        break;
      case "reject":
        await world.reject(of);
        break;
      case "finish":
        await world.finish({ accountId, id, requestId });
        break;
      case "describe":
        await world.describe({ accountId, id, requestId });
        break;
      case "wrong":
        await world.approveWith(first!, id, signMessage(first!.keys.privateKey, Buffer.from("wrong")));
        break;
      case "redirect":
        await world.redirect({ ...of, destDeviceId: pick(devices, action.device).device.id });
        break;
      case "sign": {
        chain.submission = action.outcome;
        const { message } = (await world.requests.find(accountId, id))!;
        await world.sign(pick(devices, action.device), id, message);
        break;
      }
      case "report":
        chain.verification = action.outcome;
        await world.report(pick(devices, action.device), id, v7().replaceAll("-", "").padEnd(64, "0"));
        break;
      case "advance":
        clock.advance(action.ms);
        break;
      case "chain":
        if (action.does === "sealed" || action.does === "failed") chain.decide(action.does);
        else chain.down = action.does === "down";
        break;
    }
    return undefined;
  } catch (error) {
    assert(isAppError(error), error as Error);
    assert.match(error.reason, REFUSALS[action.kind]);
    return error.reason;
  }
}

const isOpen = (row: TwoFactor, now: Date) => row.status === "pending" && row.attemptId === null && row.expiresAt > now;

/** What must be true of every row at any time. */
function checkRow(row: TwoFactor, real: Real): void {
  const { status, attemptId, result, sealedAt, keyIndex } = row;
  const has = (condition: boolean, what: string) => assert(condition, `${status} ${what}`);
  if (status === "expired" || status === "rejected") has(attemptId === null, "with an attempt");
  if (status === "expired") has(row.expiresAt <= real.world.clock.now(), "too early");
  has((status === "rejected") === (row.rejectedAt !== null), "and its time of rejection");
  const decided = status === "approved" || status === "finished" || status === "failed";
  has(decided === (result !== null), "and its transaction");
  if (decided) has(row.approvedBy !== null, "by nobody");
  has((sealedAt === null) === (keyIndex === null), "and its index");
  if (status === "finished") has(sealedAt !== null, "before the seal");
  if (status === "failed") has(sealedAt === null, "after the seal");
  has(row.wrongApprovals <= WRONG_APPROVALS, "after too many wrong approvals");
  // Whatever is not over yet is in somebody's list.
  const unsettled = (status === "pending" && attemptId !== null) || (status === "approved" && sealedAt === null);
  has(unsettled === (row.settleAt !== null), "and the sweeper");
}

/** At most one transaction was ever submitted for a request, and the request is bound to it. */
function checkSubmission(row: TwoFactor, { world }: Real): void {
  const key = row.userKey.accountKey.publicKey;
  const [committed, ...more] = [...world.chain.attempts].filter(([, attempt]) => attempt.key === key);
  assert(more.length === 0, "submitted twice");
  if (!committed) return;
  assert.equal(row.attemptId, committed[0]);
  assert.deepEqual(row.message, committed[1].message);
}

async function checkAll(model: Model, real: Real): Promise<void> {
  for (const { id, from, to } of real.steps.splice(0)) {
    assert(from === to || TRANSITIONS[from].includes(to), `${id}: ${from} became ${to}`);
    assert(!model.final.has(id), `${id} was ${model.final.get(id)?.status} and was changed`);
  }
  for (const id of real.opened) {
    const row = (await real.world.requests.find(real.accountId, id))!;
    checkRow(row, real);
    const before = model.final.get(id);
    if (before) assert.deepEqual(row, before);
    const result = model.results.get(id);
    if (result) assert.equal(row.result?.id, result);
    if (row.result) model.results.set(id, row.result.id);
    if (TRANSITIONS[row.status].length === 0) model.final.set(id, row);
    checkSubmission(row, real);
  }
}

/** What an action that nobody disturbs must bring about, seen from the row before and after it. */
function checkAlone(
  action: Action,
  refusal: string | undefined,
  before: TwoFactor,
  after: TwoFactor,
  real: Real,
): void {
  const { world } = real;
  const open = isOpen(before, world.clock.now());
  const used = before.wrongApprovals >= WRONG_APPROVALS;
  const must = (condition: boolean) =>
    assert(condition, `${action.kind} of ${before.status}: ${refusal ?? after.status}`);
  if (action.kind === "reject") {
    if (open) must(refusal === undefined);
    if (refusal === undefined) must(after.status === "rejected");
  }
  if (action.kind === "redirect" && refusal === undefined) {
    must(after.requestId !== before.requestId && after.destDeviceId === pick(real.devices, action.device).device.id);
    assert.deepEqual(after.expiresAt, before.expiresAt);
  }
  if (action.kind === "sign") {
    if (open && !used && action.outcome === "submitted") must(refusal === undefined);
    if (open && !used && action.outcome === "SigningRefused")
      must(after.status === "pending" && after.attemptId === null);
    if (refusal === undefined) must(after.status === "approved");
  }
  if (action.kind === "report") {
    if (open && !used && !world.chain.down && action.outcome === "sealed") must(refusal === undefined);
    if (refusal === undefined) must(after.status === "approved");
  }
  if (action.kind === "finish")
    must((refusal === undefined) === (before.status === "approved" && before.sealedAt !== null));
  if (action.kind === "get" && before.status === "pending") must(["pending", "expired"].includes(after.status));
}

class Alone implements fc.AsyncCommand<Model, Real> {
  readonly action: Action;
  constructor(action: Action) {
    this.action = action;
  }
  check = () => true;
  toString = () => JSON.stringify(this.action);
  async run(model: Model, real: Real): Promise<void> {
    const read = () => real.world.requests.find(real.accountId, id);
    const id = "target" in this.action ? pick(real.opened, this.action.target) : "";
    const before = id === "" ? undefined : await read();
    const refusal = await perform(real, this.action);
    if (before) checkAlone(this.action, refusal, before, (await read())!, real);
    await checkAll(model, real);
  }
}

class AtOnce implements fc.AsyncCommand<Model, Real> {
  readonly actions: Action[];
  constructor(actions: Action[]) {
    this.actions = actions;
  }
  check = () => true;
  toString = () => `at once ${JSON.stringify(this.actions)}`;
  async run(model: Model, real: Real): Promise<void> {
    await Promise.all(this.actions.map((action) => perform(real, action)));
    await checkAll(model, real);
  }
}

const target = fc.nat(3);
const device = fc.nat(1);
const submissions: Submission[] = ["submitted", "submitted", "lost", "lost-before", "SigningRefused"];
const verifications: Verification[] = ["sealed", "sealed", "TransactionMismatch", "TransactionPending"];

const action: fc.Arbitrary<Action> = fc.oneof(
  fc.record({ kind: fc.constantFrom("open", "list", "sweep", "renew", "reopen") }),
  fc.record({ kind: fc.constantFrom("get", "reject", "finish", "describe", "wrong"), target }),
  fc.record({ kind: fc.constant("redirect" as const), target, device }),
  { weight: 2, arbitrary: signing() },
  fc.record({ kind: fc.constant("report" as const), target, device, outcome: fc.constantFrom(...verifications) }),
  fc.record({ kind: fc.constant("advance" as const), ms: fc.constantFrom(500, 16_000, 100_000, 300_000) }),
  fc.record({ kind: fc.constant("chain" as const), does: fc.constantFrom("sealed", "failed", "down", "up") }),
);

function signing(): fc.Arbitrary<Action> {
  return fc.record({ kind: fc.constant("sign" as const), target, device, outcome: fc.constantFrom(...submissions) });
}

/** Plays random sequences of all commands, some of them at once, upon a store, and finds no state outside the table. */
export async function playTwoFactor(
  stores: () => { requests: TwoFactorStore; devices: DeviceStore },
  parameters: { numRuns: number; maxCommands: number },
): Promise<void> {
  const commands = fc.commands(
    [
      action.map((one) => new Alone(one)),
      fc.array(action, { minLength: 2, maxLength: 3 }).map((several) => new AtOnce(several)),
    ],
    { maxCommands: parameters.maxCommands, size: "max" },
  );
  const pauses = fc.infiniteStream(fc.nat(3));
  const property = fc.asyncProperty(commands, pauses, async (sequence, turns) => {
    const { requests, devices } = stores();
    const steps: Real["steps"] = [];
    const world = twoFactorWorld({ requests: recording(requests, steps, turns), devices }, new FixedClock());
    const accountId = v7();
    const registered = [await world.device(accountId), await world.device(accountId)];
    const real: Real = { world, accountId, devices: registered, opened: [], steps };
    await perform(real, { kind: "open" });
    await fc.asyncModelRun(() => ({ model: { final: new Map(), results: new Map() }, real }), sequence);
  });
  await fc.assert(property, { numRuns: parameters.numRuns });
}

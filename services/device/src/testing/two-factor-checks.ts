import { strict as assert } from "node:assert";
import { MAX_WRONG_APPROVALS } from "../domain/two-factor/approve-two-factor.ts";
import type { TwoFactor, TwoFactorStatus } from "../domain/two-factor/two-factor.ts";
import { TRANSITIONS } from "./transitions.ts";
import type { Registered, TwoFactorWorld } from "./two-factor-world.ts";

export type Submission = TwoFactorWorld["chain"]["submission"];
export type Verification = TwoFactorWorld["chain"]["verification"];

/** Something that may happen to one of an account's requests, or to the world around. */
export type Action =
  | { kind: "open" | "list" | "sweep" | "renew" | "reopen" }
  | { kind: "get" | "reject" | "finish" | "describe" | "wrong"; target: number }
  | { kind: "redirect"; target: number; device: number }
  | { kind: "sign"; target: number; device: number; outcome: Submission }
  | { kind: "report"; target: number; device: number; outcome: Verification }
  | { kind: "advance"; ms: number }
  | { kind: "chain"; does: "sealed" | "failed" | "down" | "up" };

export interface Model {
  /** Rows in a final state, which must never change again. */
  final: Map<string, TwoFactor>;
  /** The deciding transactions. */
  results: Map<string, string>;
}

export interface Real {
  world: TwoFactorWorld;
  accountId: string;
  devices: Registered[];
  opened: string[];
  /** Every step that was taken, as the store saw it. */
  steps: { id: string; from: TwoFactorStatus; to: TwoFactorStatus }[];
}

export const pick = <T>(items: readonly T[], index: number): T => items[index % items.length]!;

const isOpen = (row: TwoFactor, now: Date) => row.status === "pending" && row.attemptId === null && row.expiresAt > now;

/** Checks the conditions that every row meets at any time. */
function checkRow(row: TwoFactor, real: Real): void {
  const { status, attemptId, result, sealedAt, keyIndex } = row;
  const has = (condition: boolean, what: string) => assert(condition, `${status} ${what}`);
  if (status === "expired" || status === "rejected") has(attemptId === null, "with an attempt");
  if (status === "expired") has(row.expiresAt <= real.world.clock.now(), "too early");
  has((status === "rejected") === (row.rejectedAt !== null), "and its time of rejection");
  const decided = status === "approved" || status === "finished" || status === "failed";
  has(decided === (result !== null), "and its transaction");
  if (decided) has(row.approverId !== null, "by nobody");
  has((sealedAt === null) === (keyIndex === null), "and its index");
  if (status === "finished") has(sealedAt !== null, "before the seal");
  if (status === "failed") has(sealedAt === null, "after the seal");
  has(row.wrongApprovals <= MAX_WRONG_APPROVALS, "after too many wrong approvals");
  // Each attempt without an outcome is in the sweeper's list.
  const unconfirmed = (status === "pending" && attemptId !== null) || (status === "approved" && sealedAt === null);
  has(unconfirmed === (row.reconcileAt !== null), "and the sweeper");
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

export async function checkAll(model: Model, real: Real): Promise<void> {
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

/** Checks the result of an undisturbed action by the row before and after it. */
export function checkAlone(
  action: Action,
  refusal: string | undefined,
  before: TwoFactor,
  after: TwoFactor,
  real: Real,
): void {
  const { world } = real;
  const open = isOpen(before, world.clock.now());
  const used = before.wrongApprovals >= MAX_WRONG_APPROVALS;
  const must = (condition: boolean) =>
    assert(condition, `${action.kind} of ${before.status}: ${refusal ?? after.status}`);
  if (action.kind === "reject") {
    // Only the first device of the model rejects: what is rejected was rejected by it.
    if (open || before.status === "rejected") must(refusal === undefined);
    if (refusal === undefined) must(after.status === "rejected");
  }
  if (action.kind === "redirect" && refusal === undefined) {
    must(after.messageId !== before.messageId && after.destDeviceId === pick(real.devices, action.device).device.id);
    assert.deepEqual(after.expiresAt, before.expiresAt);
  }
  if (action.kind === "sign") {
    if (open && !used && action.outcome === "submitted") must(refusal === undefined);
    if (open && !used && action.outcome === "SigningRefused")
      must(after.status === "pending" && after.attemptId === null);
    const own = before.approverId === pick(real.devices, action.device).device.id;
    const approved = before.status === "approved" || before.status === "finished";
    if (approved) must((refusal === undefined) === own);
    if (refusal === undefined) must(after.status === (before.status === "finished" ? "finished" : "approved"));
  }
  if (action.kind === "report") {
    if (open && !used && !world.chain.down && action.outcome === "sealed") must(refusal === undefined);
    if (refusal === undefined) must(after.status === "approved");
  }
  if (action.kind === "finish")
    must((refusal === undefined) === (before.status === "approved" && before.sealedAt !== null));
  if (action.kind === "get" && before.status === "pending") must(["pending", "expired"].includes(after.status));
}

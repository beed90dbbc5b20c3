import { strict as assert } from "node:assert";
import { isAppError } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { signMessage } from "@countersign/keys/node";
import fc from "fast-check";
import { v7 } from "uuid";
import type { DeviceStore } from "../domain/devices/device-store.ts";
import type { TwoFactorStore } from "../domain/two-factor/ports.ts";
import {
  type Action,
  checkAll,
  checkAlone,
  type Model,
  pick,
  type Real,
  type Submission,
  type Verification,
} from "./two-factor-checks.ts";
import { twoFactorWorld } from "./two-factor-world.ts";

/** The permitted answers besides success. */
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
  redirect: /^(TwoFactorAuthNotPending|Unavailable|RateLimited)$/,
  wrong: /^(TwoFactorAuthNotPending|Unavailable|InvalidSignature|RateLimited)$/,
  sign: /^(TwoFactorAuthNotPending|Unavailable|SigningRefused|MessageRenewed|RateLimited|Internal)$/,
  report: /^(TwoFactorAuthNotPending|Unavailable|ChainUnavailable|Transaction(Mismatch|Pending)|RateLimited)$/,
  finish: /^TwoFactorAuth(Pending|Rejected|Expired|Finished|Failed)$/,
};

/**
 * Writes down every step that a store takes; `pauses` turns of the event loop pass before it reads and steps.
 */
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

async function perform(real: Real, action: Action): Promise<string | undefined> {
  const { world, accountId, devices, opened } = real;
  const { chain, clock } = world;
  const requestId = "model";
  const [first] = devices;
  const id = "target" in action ? pick(opened, action.target) : "";
  const of = { session: first!.session, twoFactorId: id, requestId };
  try {
    switch (action.kind) {
      case "open":
        opened.push((await world.open(world.enrollmentRequest(accountId))).request.id);
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

/**
 * Plays random sequences of all commands, some of them at once, upon a store, and finds no state outside the
 * table.
 */
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

import type { KeyChange } from "@countersign/flow";
import type { PublicKey } from "@countersign/keys";
import {
  decideFreeze,
  decideUnfreeze,
  deviceParty,
  type Freeze,
  type FreezeFacts,
  mayRemove,
  type Party,
  RECOVERY_KEY,
} from "../../services/auth/src/domain/freeze/freeze-rules.ts";
import { isLastDevice } from "../../services/device/src/domain/devices/remove-device.ts";
import { accessOf } from "../../services/key/src/domain/describe-access.ts";
import { OF_USER_KEY, type Registration } from "../../services/key/src/domain/registration.ts";
import { sessionKeepsItsKey } from "../../services/signer/src/policy/history-rules.ts";

/** A device: not there yet; its key on chain, but not registered; the account's; removed. */
type Place = "free" | "unfinished" | "live" | "removed";

/** An account across all services. Time is left out: a delayed request is repeated after its time lock. */
export interface AccountState {
  readonly devices: readonly { readonly place: Place; readonly key: "none" | "active" | "revoked" }[];
  /** reported: not on chain. unreported: on chain, and unknown to the service. */
  readonly recovery: "none" | "reported" | "unreported" | "active";
  readonly frozenBy: Party | undefined;
  /** New devices are refused after three rejections. */
  readonly closed: boolean;
}

/** The device that acts, by its number, or the recovery key. */
export type Actor = number | "recovery";

/** The rules of the services that keep an account reachable; a test takes one out to show what it is for. */
export const RULES = { isLastDevice, sessionKeepsItsKey, decideUnfreeze, mayRemove, accessOf };
export type Rules = typeof RULES;

const CHAIN = "flow-emulator";
const DAY_MS = 24 * 3_600_000;
const TIME_LOCKS = { deviceMs: DAY_MS, recoveryMs: DAY_MS };
const keyOf = (device: number): PublicKey => ({ algorithm: "ES256", publicKey: `${device + 1}`.repeat(128) });
const RECOVERY: PublicKey = { algorithm: "ES256", publicKey: "f".repeat(128) };
const partyOf = (actor: Actor): Party => (actor === "recovery" ? RECOVERY_KEY : deviceParty(keyOf(actor)));

/** Returns the account after sign-up. */
export const signedUp = (devices: number): AccountState => ({
  devices: Array.from({ length: devices }, (_, index) =>
    index === 0 ? { place: "live", key: "active" } : { place: "free", key: "none" },
  ),
  recovery: "none",
  frozenBy: undefined,
  closed: false,
});

const registration = (accountKey: PublicKey, change: Partial<Registration>): Registration => ({
  ...OF_USER_KEY,
  id: accountKey.publicKey,
  accountId: "account",
  chainName: CHAIN,
  app: { appId: "", appName: "" },
  type: "device",
  accountKey,
  deviceKey: accountKey,
  name: "",
  keyIndex: 1,
  origin: "two-factor",
  createdAt: new Date(0),
  lastUsedAt: null,
  revokedAt: null,
  ...change,
});

/** Returns the registrations that the key service has of such an account. */
function registrationsOf({ devices, recovery }: AccountState): Registration[] {
  const users = devices.flatMap(({ place, key }, index) => {
    if (key === "none") return [];
    const origin = place === "unfinished" ? "chain" : "two-factor";
    return [registration(keyOf(index), { origin, revokedAt: key === "revoked" ? new Date(0) : null })];
  });
  if (recovery === "none") return users;
  const origin = recovery === "unreported" ? "chain" : "recovery";
  const keyIndex = recovery === "reported" ? -1 : 1;
  return [...users, registration(RECOVERY, { kind: "recovery", origin, keyIndex })];
}

const accessTo = (state: AccountState, { accessOf }: Rules) => accessOf(registrationsOf(state));

/** Returns whether this device or key signs in. */
export function signsIn(state: AccountState, actor: Actor, rules: Rules = RULES): boolean {
  const access = accessTo(state, rules)[0];
  if (actor === "recovery") return access?.recoveryKey ?? false;
  const own = keyOf(actor).publicKey;
  const holdsKey = access?.deviceKeys.some(({ publicKey }) => publicKey === own) ?? false;
  return holdsKey && state.devices[actor]?.place === "live";
}

const actorsOf = ({ devices }: AccountState): Actor[] => [...devices.keys(), "recovery"];

/** Returns whether somebody gets a transaction of the account signed. */
export const signs = (state: AccountState, rules: Rules = RULES): boolean =>
  state.frozenBy === undefined && state.devices.some((_, device) => signsIn(state, device, rules));

/**
 * Returns whether the model's devices are used up; a real account's are not: the recovery key would enroll
 * one more.
 */
export const isFull = ({ devices }: AccountState): boolean => devices.every(({ place }) => place !== "free");

const change = (
  state: AccountState,
  index: number,
  device: Partial<AccountState["devices"][number]>,
): AccountState => ({
  ...state,
  devices: state.devices.map((each, at) => (at === index ? { ...each, ...device } : each)),
});

const freezeOf = ({ frozenBy, devices }: AccountState, requests: Freeze["requests"] = []): Freeze | undefined => {
  if (frozenBy === undefined) return undefined;
  const removed = devices.flatMap(({ place }, index) => (place === "removed" ? [partyOf(index)] : []));
  return { frozenAt: new Date(0), frozenBy, joinedBy: [], requests, removed };
};

const factsOf = (state: AccountState, requests?: Freeze["requests"]): FreezeFacts => ({
  freeze: freezeOf(state, requests),
  held: false,
  left: false,
  recoveryLifts: undefined,
  memberSince: new Date(-1),
});

/** Lifts the freeze alone: asks, waits, asks again. */
function unfreeze(state: AccountState, by: Party, { decideUnfreeze }: Rules): AccountState | undefined {
  const first = decideUnfreeze(factsOf(state), by, { now: new Date(1), id: "id", timeLocks: TIME_LOCKS });
  const lifted = { ...state, frozenBy: undefined };
  if (first.type === "lift") return lifted;
  if (first.type !== "ask") return undefined;
  const { request } = first;
  const again = { now: request.availableAt, id: "again", timeLocks: TIME_LOCKS };
  return decideUnfreeze(factsOf(state, [request]), by, again).type === "lift" ? lifted : undefined;
}

function remove(state: AccountState, by: number, device: number, rules: Rules): AccountState | undefined {
  if (state.devices[device]?.place !== "live") return undefined;
  // The time lock that mayRemove asks for is over at some time.
  const question = { by: partyOf(by), device: partyOf(device), now: new Date(DAY_MS), timeLocks: TIME_LOCKS };
  if (!rules.mayRemove(freezeOf(state), question)) return undefined;
  const live = state.devices.flatMap(({ place }, index) => (place === "live" ? [keyOf(index)] : []));
  if (by === device && rules.isLastDevice(keyOf(device), live, accessTo(state, rules))) return undefined;
  return change(state, device, { place: "removed" });
}

/** Through /sign, with the template; and what the services do when the chain shows it. */
function revoke(state: AccountState, by: number, device: number, rules: Rules): AccountState | undefined {
  const [own, old] = [state.devices[by], state.devices[device]];
  if (state.frozenBy !== undefined || own?.key !== "active" || old?.key !== "active") return undefined;
  const revocation: KeyChange = { template: "revoke-user-key", oldKey: keyOf(device).publicKey };
  if (rules.sessionKeepsItsKey({ template: { change: revocation }, token: { accountKey: keyOf(by) } }))
    return undefined;
  // The template's own condition on chain, which counts the keys of removed devices too.
  if (state.devices.filter(({ key }) => key === "active").length === 1) return undefined;
  return change(state, device, { key: "revoked", place: "removed" });
}

/** Returns every next state, by what was done. */
export function next(
  state: AccountState,
  rules: Rules,
  by: readonly Actor[] = actorsOf(state),
): [string, AccountState][] {
  const found: [string, AccountState | undefined][] = [];
  // Time passes for everybody.
  found.push(["a day passes", { ...state, closed: false }]);
  if (state.recovery === "reported") found.push(["the report is dropped", { ...state, recovery: "none" }]);
  for (const [index, { place }] of state.devices.entries())
    if (place === "unfinished") found.push([`${index} is registered`, change(state, index, { place: "live" })]);

  for (const actor of by.filter((each) => signsIn(state, each, rules))) {
    const party = partyOf(actor);
    if (state.frozenBy === undefined) {
      const frozen = decideFreeze(factsOf(state), party, new Date(0)).type === "freeze";
      found.push([`${actor} freezes`, frozen ? { ...state, frozenBy: party } : undefined]);
    } else found.push([`${actor} unfreezes`, unfreeze(state, party, rules)]);
    const free = state.devices.findIndex(({ place }) => place === "free");
    const enrolls = free >= 0 && state.frozenBy === undefined && !state.closed;
    const unfinished = { place: "unfinished", key: "active" } as const;
    if (enrolls) found.push([`${actor} enrolls ${free}`, change(state, free, unfinished)]);
    if (actor === "recovery") continue;

    found.push([`${actor} rejects three requests`, { ...state, closed: true }]);
    found.push([`${actor} reopens`, { ...state, closed: false }]);
    for (const device of state.devices.keys()) {
      found.push([`${actor} removes ${device}`, remove(state, actor, device, rules)]);
      found.push([`${actor} revokes ${device}`, revoke(state, actor, device, rules)]);
    }
    const report = { none: "reported", unreported: "active", reported: undefined, active: undefined } as const;
    const reported = report[state.recovery];
    if (reported) found.push([`${actor} reports a recovery key`, { ...state, recovery: reported }]);
    if (state.frozenBy !== undefined) continue;
    if (state.recovery === "none") found.push([`${actor} adds a recovery key`, { ...state, recovery: "unreported" }]);
    if (state.recovery === "reported") found.push([`${actor} adds the recovery key`, { ...state, recovery: "active" }]);
    if (state.recovery === "active" || state.recovery === "unreported") {
      found.push([`${actor} replaces the recovery key`, { ...state, recovery: "unreported" }]);
      found.push([`${actor} revokes the recovery key`, { ...state, recovery: "none" }]);
    }
  }
  return found.flatMap(([name, after]) => (after ? [[name, after]] : []));
}

export interface Reached {
  readonly state: AccountState;
  /** The actions that led to this state. */
  readonly way: readonly string[];
}

const nameOf = (state: AccountState): string => JSON.stringify(state);

/** Returns every state that can be reached, with the shortest way to it. */
export function explore(from: AccountState, rules: Rules = RULES): Reached[] {
  const seen = new Map<string, Reached>([[nameOf(from), { state: from, way: [] }]]);
  // A map's entries that are added while it is walked are walked too.
  for (const { state, way } of seen.values()) {
    for (const [done, after] of next(state, rules)) {
      const name = nameOf(after);
      if (!seen.has(name)) seen.set(name, { state: after, way: [...way, done] });
    }
  }
  return [...seen.values()];
}

/** Returns those of the states from which a transaction is signed again, if only `by` act from there on. */
export function recoverable(
  states: readonly AccountState[],
  rules: Rules = RULES,
  by?: readonly Actor[],
): Set<AccountState> {
  const known = new Map(states.map((state) => [nameOf(state), state]));
  const before = new Map<AccountState, AccountState[]>();
  for (const state of states) {
    for (const [, after] of next(state, rules, by)) {
      const same = known.get(nameOf(after));
      if (!same) throw new Error("a state that was not reached");
      const those = before.get(same);
      if (those) those.push(state);
      else before.set(same, [state]);
    }
  }
  const ends = (state: AccountState) => signs(state, rules) || (signsIn(state, "recovery", rules) && isFull(state));
  const found = new Set(states.filter(ends));
  for (const state of found) for (const each of before.get(state) ?? []) found.add(each);
  return found;
}

import { readFileSync, writeFileSync } from "node:fs";
import { expect } from "vitest";

/** The flow during which a process is killed. */
export type Way = keyof typeof WAYS;
export type EnrollmentWay = "enrollmentBySignature" | "enrollmentByTransaction";

/**
 * The places at which the tests always kill, each with the fault points that are there: programs report
 * "program/operation: port.method before", "… before commit" or "… after", "program/operation begins" or
 * "… ends". `*` matches anything.
 */
export const PLACES: Readonly<Record<string, string | readonly string[]>> = {
  "gateway/sign-up accepted": "gateway/signUp: auth.signUp before",
  "gateway/before answer": "gateway/signUp: auth.signUp after",
  "gateway/new device accepted": "gateway/requestTwoFactor: auth.requestTwoFactor before",
  "gateway/new device before answer": "gateway/requestTwoFactor: auth.requestTwoFactor after",
  "gateway/approval accepted": "gateway/approveTwoFactor: device.approveTwoFactor before",
  "gateway/approval before answer": "gateway/approveTwoFactor: device.approveTwoFactor after",
  "gateway/finish accepted": "gateway/finishTwoFactor: auth.finishTwoFactor before",
  "gateway/finish before answer": "gateway/finishTwoFactor: auth.finishTwoFactor after",

  "auth/claimed": "auth/SignUp: signUps.lease after",
  "auth/before DeployAccount": "auth/*: account.deployAccount before",
  "auth/after DeployAccount": "auth/*: account.deployAccount after",
  "auth/before RegisterKey": signUpStep("key.registerKey before"),
  "auth/after RegisterKey": signUpStep("key.registerKey after"),
  "auth/before RegisterDevice": signUpStep("device.registerDevice before"),
  "auth/after RegisterDevice": signUpStep("device.registerDevice after"),
  "auth/done": "auth/*: signUps.mark(*RegisterDevice) after",
  "auth/session begun": "auth/SignUp: sessions.begin after",
  "auth/request begun": "auth/RequestTwoFactor: signIns.begin after",
  "auth/request opened": "auth/RequestTwoFactor: device.openTwoFactor after",
  "auth/request received": "auth/on two-factor-changed begins",
  "auth/request taken note of": "auth/on two-factor-changed ends",
  "auth/enrollment begun": enrollmentStep("key.registerKey before"),
  "auth/key enrolled": enrollmentStep("key.registerKey after"),
  "auth/device enrolled": enrollmentStep("device.registerDevice after"),
  "auth/enrollment committed": "auth/*: signIns.markEnrolled after",
  "auth/request finished": "auth/FinishTwoFactor: device.finishTwoFactor after",
  "auth/session opened": "auth/FinishTwoFactor: signIns.finish after",
  "auth/revocation received": "auth/on key-revoked begins",
  "auth/revocation followed": "auth/on key-revoked ends",
  "auth/account held": "auth/on chain-alert: holds.place after",

  "account/deployment queued": "account/DeployAccount: accounts.queue after",
  "account/creation leased": "account/creation begins",
  "account/creation signed": "account/creation: signer.signCreation after",
  "account/bytes committed": "account/creation: creations.signed after",
  "account/submitted": "account/creation: chain.submit after",
  "account/sealed": "account/creation: signer.bindAddress before",
  "account/address bound": "account/creation: creations.sealed before",
  "account/events committed": "account/creation: creations.sealed after",
  "account/deployment found": "account/DeployAccount ends",
  "account/addition prepared": "account/PrepareKeyAddition ends",
  "account/addition co-signed": "account/SubmitKeyAddition: signer.signTransaction after",
  "account/addition sponsored": "account/SubmitKeyAddition: signer.signPaymaster after",
  "account/addition committed": "account/SubmitKeyAddition: additions.commit after",
  "account/addition submitted": "account/SubmitKeyAddition: chain.submit after",
  "account/addition decided": "account/*: additions.finish before",
  "account/addition finished": "account/*: additions.finish after",
  "account/addition verified": "account/VerifyKeyAddition ends",
  "account/events read": "account/*: keyWatch.advance(*changes*) before",
  "account/change before commit": "account/*: keyWatch.advance(*changes*) before commit",
  "account/change committed": "account/*: keyWatch.advance(*changes*) after",
  "account/alert raised": "account/*: keyWatch.advance(*alerts*) after",
  "account/freeze received": "account/on account-frozen begins",
  "account/void signed": "account/voiding: signer.signVoid after",
  "account/void submitted": "account/voiding: chain.submit after",
  "account/void sealed": "account/voiding: signer.signVoid again before",
  "account/freeze followed": "account/voiding ends",
  "account/usage reported": "account/*: budgets.settle(paid) after",
  "account/rotation prepared": "account/ListServerKeyRotations ends",
  "account/rotation co-signed": "account/RotateServerKey: signer.signTransaction after",
  "account/rotation sponsored": "account/RotateServerKey: signer.signPaymaster after",
  "account/rotation committed": "account/RotateServerKey: rotations.commit after",
  "account/rotation submitted": "account/RotateServerKey: chain.submit after",
  "account/rotation sealed": "account/*: signer.rotateBinding before",
  "account/rotation bound": "account/*: signer.rotateBinding after",
  "account/rotation reconciled": "account/*: rotations.finish after",

  "signer/signature made": "signer/*: vault.sign after",
  "signer/audit committed": "signer/*: audit.append(signed) after",
  "signer/binding committed": "signer/BindAddress: bindings.insert after",
  "signer/delay before commit": "signer/*: timeLocks.startOrFind before commit",
  "signer/delay started": "signer/*: timeLocks.startOrFind after",
  "signer/recovery key remembered": "signer/*: effects.record(*recovery-key*) after",
  "signer/reservations settled": "signer/*: reservations.settle(paid) after",
  "signer/rotation begun": "signer/*: effects.record(*rotation*) after",
  "signer/binding rotated": [
    "signer/RotateBinding: bindings.appendVersion after",
    "signer/RotateBinding: bindings.moveVersion after",
    "signer/RotateBinding: bindings.takeBackVersion after",
  ],

  "key/first key committed": "key/RegisterKey: keys.insertFirst after",
  "key/before commit": "key/RegisterKey: keys.withAccount before commit",
  "key/committed": "key/RegisterKey: keys.withAccount after",
  "key/change received": "key/on account-keys-changed begins",
  "key/change before commit": "key/on account-keys-changed: keys.withAccount before commit",
  "key/change followed": "key/on account-keys-changed ends",
  "key/unregistered keys before commit": "key/job unregistered keys: keys.withAccount before commit",
  "key/unregistered keys committed": "key/job unregistered keys: keys.withAccount after",

  // Where the account has a device, nothing is committed here.
  "device/first device committed": "device/RegisterDevice: devices.insertFirst after",
  "device/before commit": "device/RegisterDevice: devices.withAccount before commit",
  "device/committed": "device/RegisterDevice: devices.withAccount after",
  "device/request committed": "device/OpenTwoFactor: requests.withAccount again after",
  "device/attempt committed": "device/ApproveTwoFactor: requests.take(attempt) after",
  "device/attempt submitted": "device/ApproveTwoFactor: account.submitKeyAddition after",
  "device/transaction verified": "device/ApproveTwoFactor: account.verifyKeyAddition after",
  "device/approval committed": "device/ApproveTwoFactor: requests.take(approved) after",
  "device/outcome known": "device/*: account.reconcileKeyAddition after",
  "device/seal committed": "device/*: requests.take(sealed) after",
  "device/finish committed": "device/FinishTwoFactor: requests.take(finished) after",
  "device/revocation received": "device/on key-revoked: devices.withAccount before",
  "device/revocation followed": "device/on key-revoked: devices.withAccount after",

  "outbox/published": "*/background: outbox.publish after",
};

function signUpStep(point: string): string[] {
  return ["SignUp", "job abandoned sign-ups"].map((operation) => `auth/${operation}: ${point}`);
}

function enrollmentStep(point: string): string[] {
  return ["FinishTwoFactor", "on two-factor-changed"].map((operation) => `auth/${operation}: ${point}`);
}

/** Places of one program, as their whole names. */
const of = (program: string, ...places: string[]): string[] => places.map((place) => `${program}/${place}`);

const published = ["outbox/published"];
const registered = [...of("key", "before commit", "committed"), ...of("device", "before commit", "committed")];
const signed = of("signer", "signature made", "audit committed");
/** From the watch of the chain's events to the key service. */
const keysChanged = [
  ...of("account", "events read", "change before commit", "change committed"),
  ...of("key", "change received", "change before commit", "change followed"),
];
const enrolled = [
  "device/first device committed",
  ...of("gateway", "new device accepted", "new device before answer", "approval accepted", "approval before answer"),
  ...of("gateway", "finish accepted", "finish before answer"),
  ...of("auth", "request begun", "request opened", "request received", "request taken note of"),
  ...of("auth", "enrollment begun", "key enrolled", "device enrolled", "enrollment committed"),
  ...of("auth", "request finished", "session opened"),
  ...of("device", "request committed", "approval committed", "finish committed"),
  "account/addition prepared",
  ...registered,
  ...signed,
  ...keysChanged,
  ...published,
];

const WAYS = {
  signUp: [
    ...of("gateway", "sign-up accepted", "before answer"),
    ...of("auth", "claimed", "before DeployAccount", "after DeployAccount", "before RegisterKey", "after RegisterKey"),
    ...of("auth", "before RegisterDevice", "after RegisterDevice", "done", "session begun"),
    ...of("account", "deployment queued", "creation leased", "creation signed", "bytes committed", "submitted"),
    ...of("account", "sealed", "address bound", "events committed", "deployment found"),
    ...signed,
    "signer/binding committed",
    "key/first key committed",
    "device/first device committed",
    ...published,
  ],
  /** A new device is enrolled by an approver's signature. */
  enrollmentBySignature: [
    ...enrolled,
    ...of("account", "addition co-signed", "addition sponsored", "addition committed", "addition submitted"),
    ...of("account", "addition decided", "addition finished"),
    ...of("device", "attempt committed", "attempt submitted", "outcome known", "seal committed"),
  ],
  /** A new device is enrolled by a transaction that the approver has sent. */
  enrollmentByTransaction: [...enrolled, "account/addition verified", "device/transaction verified"],
  /** Keys change on chain by a transaction that no service took part in. */
  chainChange: [
    ...keysChanged,
    ...of("auth", "revocation received", "revocation followed"),
    ...of("key", "unregistered keys before commit", "unregistered keys committed"),
    ...of("device", "revocation received", "revocation followed"),
    ...published,
  ],
  /** A time lock starts, and the change is signed after it ends. */
  timeLock: [
    ...of("signer", "delay before commit", "delay started", "recovery key remembered"),
    ...signed,
    ...published,
  ],
  /** An account is frozen, and what was signed for it voided. */
  freeze: [
    ...of("account", "freeze received", "void signed", "void submitted", "void sealed", "freeze followed"),
    ...signed,
    ...published,
  ],
  /** The signer's budgets learn what the paymaster paid: some time after the payment, in any operation. */
  settlement: ["account/usage reported", "signer/reservations settled"],
  /** An account is changed on chain by no transaction of ours. */
  chainAlert: ["auth/account held", "account/alert raised", ...published],
  /** An account's server key is rotated. */
  rotateServerKey: [
    ...of("account", "rotation prepared", "rotation co-signed", "rotation sponsored", "rotation committed"),
    ...of("account", "rotation submitted", "rotation sealed", "rotation bound", "rotation reconciled"),
    ...of("signer", "rotation begun", ...["signature made", "audit committed"], "binding rotated"),
  ],
} as const satisfies Record<string, readonly string[]>;

const regularExpression = (pattern: string): RegExp =>
  new RegExp(`^${pattern.replace(/[.()]/g, "\\$&").replaceAll("*", ".*")}$`);
const patterns = Object.entries(PLACES).map(
  ([place, points]) => [place, [points].flat().map(regularExpression)] as const,
);
const known = new Map<string, readonly string[]>();

/** Returns the places that a reported fault point is at; the point itself where it is at none. */
export function placesAt(point: string): readonly string[] {
  const places = known.get(point);
  if (places !== undefined) return places;
  const found = patterns.flatMap(([place, points]) => (points.some((each) => each.test(point)) ? [place] : []));
  const result = found.length > 0 ? found : [point];
  known.set(point, result);
  return result;
}

/** Returns whether a test may hold a process at this point; elsewhere it need not wait for the controller. */
export const isHeldAt = (point: string): boolean =>
  process.env.FAULT_PORTS !== undefined || placesAt(point)[0]! in PLACES;

/** The points that are at none of the places: they came with the ports. Jobs pass theirs on every way. */
const LIST = new URL("./fault-points.json", import.meta.url);
type List = Partial<Record<Way | "background", string[]>>;
const readList = (): List => JSON.parse(readFileSync(LIST, "utf8"));
const others = readList();
const isBackground = (point: string): boolean => /^\w+\/(job |background:)/.test(point);

/** Returns every place of a way, as `program/place`; with FAULT_PORTS also its other points. */
export const faultPointsOf = (way: Way): string[] => [
  ...WAYS[way],
  ...(process.env.FAULT_PORTS ? [...(others[way] ?? []), ...(others.background ?? [])] : []),
];

/** Returns the places of a way, sorted. */
const placesOf = (way: Way): string[] => WAYS[way].toSorted();

/** Returns the places among the points that were reached, sorted. */
const placesAmong = (reached: Iterable<string>): string[] => [...reached].filter((point) => point in PLACES).sort();

/**
 * Returns the points that a way has reached, that are at no place and that no list knows; those of background
 * work are left out, since they may come later. Only for FAULT_PORTS, which kills at the lists' points: which
 * ones a way reaches also depends on how fast the machine is. FAULT_RECORD adds all to the lists.
 */
function unknownOn(way: Way, reached: Iterable<string>): string[] {
  // How often an operation repeats a call may depend on how long it waits.
  const points = new Set([...reached].map((point) => point.replace(" again", "")));
  const grown = [...points].filter((point) => !(point in PLACES || placesAt(point)[0]! in PLACES));
  if (process.env.FAULT_RECORD) record(way, grown);
  if (!process.env.FAULT_PORTS) return [];
  const listed = new Set(Object.values(readList()).flat());
  return grown.filter((point) => !listed.has(point) && !isBackground(point));
}

/**
 * Expects that a way without faults reaches each of its places, soon after it ended, and no unknown point.
 * Processes of the version before may have other ones.
 */
export async function expectComplete(way: Way, reached: ReadonlySet<string>): Promise<void> {
  if (process.env.CS_TEST_MIXED_WITH) return;
  // No client waits for events to be published and received, so these points come later.
  await expect.poll(() => placesAmong(reached), { timeout: 20_000 }).toEqual(placesOf(way));
  expect(unknownOn(way, reached)).toEqual([]);
}

function record(way: Way, points: readonly string[]): void {
  const list = readList();
  for (const point of points) {
    const key = isBackground(point) ? "background" : way;
    list[key] = [...new Set([...(list[key] ?? []), point])].sort();
  }
  writeFileSync(LIST, `${JSON.stringify(list, undefined, 2)}\n`);
}

const settlement = new Set<string>(WAYS.settlement);

/** Budgets are settled in the background after every way with costs; no other way has these fault points. */
export const isSettlement = (point: string): boolean => settlement.has(point);

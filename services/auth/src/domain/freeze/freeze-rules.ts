import { DAY_MS } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";

/** A party of a freeze: a device, named by its identity key, or the account's current recovery key. */
export type Party = string;
export const RECOVERY_KEY: Party = "recovery-key";
export const deviceParty = ({ algorithm, publicKey }: PublicKey): Party => `${algorithm}/${publicKey}`;

/** A party that asked for a freeze to be lifted, and by that agrees to lifting it. */
export interface UnfreezeRequest {
  /** UUIDv7. */
  readonly id: string;
  readonly party: Party;
  readonly askedAt: Date;
  /** From then on the same party lifts the freeze by asking again. */
  readonly availableAt: Date;
  /** After it the request counts for nothing. */
  readonly lapsesAt: Date;
}

export interface Freeze {
  readonly frozenAt: Date;
  /** The party that set the freeze. */
  readonly frozenBy: Party;
  /** When that device joined the account; undefined where it is unknown, and for the recovery key. */
  readonly frozenBySince?: Date | undefined;
  /** Parties that froze the frozen account again. */
  readonly joinedBy: readonly Party[];
  readonly requests: readonly UnfreezeRequest[];
  /** Devices among these parties that were removed from the account since. */
  readonly removed: readonly Party[];
}

/** The recovery key has lifted freezes, alone or with a device, each within a week of the one before. */
export interface RecoveryLifts {
  readonly since: Date;
  readonly lastAt: Date;
}

/** The facts in the database that a decision about an account's freeze depends on. */
export interface FreezeFacts {
  /** Undefined where no device and no recovery key has frozen the account. */
  readonly freeze: Freeze | undefined;
  /** An operator has to look at the account first. */
  readonly held: boolean;
  /** Nothing is signed for the account any more. */
  readonly left: boolean;
  /** Undefined where the recovery key has lifted none lately. */
  readonly recoveryLifts: RecoveryLifts | undefined;
  /**
   * When the requesting device joined the account; undefined where that is unknown or the device was removed.
   */
  readonly memberSince: Date | undefined;
}

/** How long lifting a freeze takes, in milliseconds. */
export interface UnfreezeTimeLocks {
  /** For a device that asks alone, from its request. */
  readonly deviceMs: number;
  /** For the recovery key alone, from the freeze. */
  readonly recoveryMs: number;
}

/** The effect of a request to freeze or unfreeze; the store writes it. */
export type FreezeDecision =
  | { readonly type: "nothing" }
  | { readonly type: "freeze" }
  | { readonly type: "join"; readonly cancels: readonly UnfreezeRequest[] }
  | { readonly type: "ask"; readonly request: UnfreezeRequest }
  | { readonly type: "wait"; readonly request: UnfreezeRequest }
  /** `recoveryLifts`: where the recovery key took part. */
  | { readonly type: "lift"; readonly recoveryLifts?: RecoveryLifts }
  | { readonly type: "refuse"; readonly reason: "UnfreezeNotAllowed" | "AccountUnderReview" | "TimeLockContested" };

/** For how long a device removes no older one (the device service's rule). */
const YOUNG_DEVICE_MS = DAY_MS;

/** How long a request can be used once its time lock has ended. */
const UNFREEZE_GOOD_FOR_MS = DAY_MS;

/** For how long devices freeze again what the recovery key has lifted. */
export const CONTEST_MS = 30 * DAY_MS;
/** Lifts belong together where one follows the other within this time. */
const CONTEST_GAP_MS = 7 * DAY_MS;
/** After that devices leave the account alone for this time, in which the recovery key enrolls a device. */
const CONTEST_PAUSE_MS = 2 * DAY_MS;

const isOpen = ({ lapsesAt }: UnfreezeRequest, now: Date): boolean => now < lapsesAt;

/** Returns the parties whose freeze this is. */
const freezersOf = ({ frozenBy, joinedBy }: Freeze): Party[] => [frozenBy, ...joinedBy];

const requestsOf = ({ requests, removed }: Freeze, now: Date): UnfreezeRequest[] =>
  requests.filter((request) => isOpen(request, now) && !removed.includes(request.party));

/** Returns whether a device may act on a freeze: it set it, or was on the account before it. */
function isOlder(by: Party, { frozenAt, frozenBy }: Freeze, memberSince: Date | undefined): boolean {
  if (memberSince === undefined) return false;
  return by === frozenBy || memberSince < frozenAt;
}

/**
 * Returns whether devices may not freeze for now: a stolen one must not undo the recovery key's lifts for
 * ever.
 */
const isContested = ({ recoveryLifts }: FreezeFacts, now: Date): boolean =>
  recoveryLifts !== undefined &&
  recoveryLifts.lastAt.getTime() - recoveryLifts.since.getTime() >= CONTEST_MS &&
  now.getTime() - recoveryLifts.lastAt.getTime() < CONTEST_PAUSE_MS;

/**
 * Decides about freezing; a removed device, whose token may still count, freezes nothing. Freezing a frozen
 * account joins the freeze, so that devices lift it at once only if this party agrees too. An older device
 * also cancels what others asked for; the recovery key only its own request: a thief must not keep them out.
 */
export function decideFreeze(facts: FreezeFacts, by: Party, now: Date): FreezeDecision {
  const { freeze, memberSince } = facts;
  const isRecovery = by === RECOVERY_KEY;
  if (!freeze && !isRecovery && isContested(facts, now)) return { type: "refuse", reason: "TimeLockContested" };
  if (!freeze) return { type: isRecovery || memberSince ? "freeze" : "nothing" };
  if (!isRecovery && !isOlder(by, freeze, memberSince)) return { type: "nothing" };
  const open = requestsOf(freeze, now);
  const cancels = isRecovery ? open.filter(({ party }) => party === by) : open;
  if (cancels.length === 0 && freezersOf(freeze).includes(by)) return { type: "nothing" };
  return { type: "join", cancels };
}

/**
 * Returns whether parties that agree lift a freeze at once: the recovery key with any device, or all parties
 * that froze, at least two in all. One party is never enough, and neither are devices that did not freeze:
 * they may all be one thief's. A device that froze and was removed since agrees no more, so that removing it
 * opens no way.
 */
function agree(freeze: Freeze, parties: ReadonlySet<Party>): boolean {
  if (parties.size < 2) return false;
  if (parties.has(RECOVERY_KEY)) return true;
  return freezersOf(freeze).every((party) => parties.has(party));
}

const oneMore = (before: RecoveryLifts | undefined, now: Date): RecoveryLifts => {
  const follows = before !== undefined && now.getTime() - before.lastAt.getTime() < CONTEST_GAP_MS;
  return { since: follows ? before.since : now, lastAt: now };
};

/**
 * Decides about lifting a freeze: at once where enough parties agree, otherwise once the request of this
 * party has waited for its time lock. Asking is agreeing.
 */
export function decideUnfreeze(
  facts: FreezeFacts,
  by: Party,
  { now, id, timeLocks }: { readonly now: Date; readonly id: string; readonly timeLocks: UnfreezeTimeLocks },
): FreezeDecision {
  const { freeze, held, left, memberSince } = facts;
  if (held) return { type: "refuse", reason: "AccountUnderReview" };
  if (!freeze) return { type: "nothing" };
  const isRecovery = by === RECOVERY_KEY;
  if (left || !(isRecovery || isOlder(by, freeze, memberSince)))
    return { type: "refuse", reason: "UnfreezeNotAllowed" };

  const open = requestsOf(freeze, now);
  const own = open.find(({ party }) => party === by);
  const from = isRecovery ? freeze.frozenAt.getTime() + timeLocks.recoveryMs : now.getTime() + timeLocks.deviceMs;
  const availableAt = new Date(from);
  const lapsesAt = new Date(Math.max(from, now.getTime()) + UNFREEZE_GOOD_FOR_MS);
  const request = own ?? { id, party: by, askedAt: now, availableAt, lapsesAt };
  const parties = new Set([by, ...open.map((each) => each.party)]);
  if (agree(freeze, parties) || now >= request.availableAt) {
    // Also where a device agrees: a stolen one would agree each time, and freeze again for ever.
    return { type: "lift", ...(parties.has(RECOVERY_KEY) && { recoveryLifts: oneMore(facts.recoveryLifts, now) }) };
  }
  return { type: own ? "wait" : "ask", request };
}

/**
 * Returns whether one device may remove another while the account is frozen: not the one that set the freeze,
 * for as long as a device waits to lift it. Otherwise a thief's phone would remove the owner's at once. A
 * thief who has set the freeze gains that time too, in which nothing is signed for anybody. A device that was
 * young then, and no longer is before that time ends, is removed at once: it would remove the others first.
 */
export function mayRemove(
  freeze: Freeze | undefined,
  removal: { by: Party; device: Party; now: Date; timeLocks: Pick<UnfreezeTimeLocks, "deviceMs"> },
): boolean {
  const { by, device, now, timeLocks } = removal;
  if (!freeze || device !== freeze.frozenBy || by === device || freeze.removed.includes(device)) return true;
  const frozenAt = freeze.frozenAt.getTime();
  const removableAt = frozenAt + timeLocks.deviceMs;
  const grownAt = freeze.frozenBySince ? freeze.frozenBySince.getTime() + YOUNG_DEVICE_MS : frozenAt;
  return now.getTime() >= removableAt || (frozenAt < grownAt && grownAt <= removableAt);
}

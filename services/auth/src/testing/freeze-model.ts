import {
  decideFreeze,
  decideUnfreeze,
  type Freeze,
  type FreezeDecision,
  type FreezeFacts,
  mayRemove,
  type Party,
  RECOVERY_KEY,
  type RecoveryLifts,
  type UnfreezeRequest,
  type UnfreezeTimeLocks,
} from "../domain/freeze/freeze-rules.ts";

const HOUR_MS = 3_600_000;
export const TIME_LOCKS: UnfreezeTimeLocks = { deviceMs: 24 * HOUR_MS, recoveryMs: 24 * HOUR_MS };

/** One account's freeze in memory: the production rules decide, and this writes what they decide. */
export class FreezeModel {
  #hours = 0;
  #ids = 0;
  #freeze: { frozenAt: Date; frozenBy: Party } | undefined;
  #recoveryLifts: RecoveryLifts | undefined;
  readonly #joined = new Set<Party>();
  readonly #requests = new Map<Party, UnfreezeRequest>();
  readonly #removed = new Set<Party>();
  readonly #since = new Map<Party, Date>();

  /** The devices are the account's long before anything happens. */
  constructor(devices: readonly Party[]) {
    for (const device of devices) this.#since.set(device, new Date(-24 * HOUR_MS));
  }

  get now(): Date {
    return new Date(this.#hours * HOUR_MS);
  }

  get freeze(): Freeze | undefined {
    if (!this.#freeze) return undefined;
    const { frozenAt, frozenBy } = this.#freeze;
    return {
      frozenAt,
      frozenBy,
      frozenBySince: this.#since.get(frozenBy),
      joinedBy: [...this.#joined],
      requests: [...this.#requests.values()],
      removed: [...this.#removed],
    };
  }

  advance(hours: number): void {
    this.#hours += hours;
  }

  has(party: Party): boolean {
    return party === RECOVERY_KEY || !this.#removed.has(party);
  }

  /** A device that came after everything so far. */
  enroll(device: Party): void {
    this.#since.set(device, this.now);
  }

  freezeBy(by: Party): FreezeDecision {
    return this.#write(by, decideFreeze(this.#facts(by), by, this.now));
  }

  unfreezeBy(by: Party): FreezeDecision {
    const id = `request-${++this.#ids}`;
    return this.#write(by, decideUnfreeze(this.#facts(by), by, { now: this.now, id, timeLocks: TIME_LOCKS }));
  }

  /** Whether the device was removed. */
  remove(by: Party, device: Party): boolean {
    if (!this.has(by) || !mayRemove(this.freeze, { by, device, now: this.now, timeLocks: TIME_LOCKS })) return false;
    this.#removed.add(device);
    return true;
  }

  #facts(by: Party): FreezeFacts {
    const memberSince = this.has(by) ? this.#since.get(by) : undefined;
    return { freeze: this.freeze, held: false, left: false, recoveryLifts: this.#recoveryLifts, memberSince };
  }

  #write(by: Party, decision: FreezeDecision): FreezeDecision {
    if (decision.type === "freeze") this.#freeze = { frozenAt: this.now, frozenBy: by };
    if (decision.type === "ask") this.#requests.set(by, decision.request);
    if (decision.type === "join") {
      for (const { party } of decision.cancels) this.#requests.delete(party);
      this.#joined.add(by);
    }
    if (decision.type === "lift") {
      this.#recoveryLifts = decision.recoveryLifts ?? this.#recoveryLifts;
      this.#freeze = undefined;
      this.#joined.clear();
      this.#requests.clear();
    }
    return decision;
  }
}

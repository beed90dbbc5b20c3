/** An alert of the chain watch that freezes an account. */
export interface Hold {
  readonly alertId: string;
  readonly accountId: string;
  readonly chainName: string;
  readonly transactionId: string;
  /** "flow.AccountKeyAdded" and so on. */
  readonly eventType: string;
}

export interface PlacedHold extends Hold {
  readonly placedAt: Date;
}

/** The event type of a hold that an administrator placed: it is of no chain. */
export const BY_ADMINISTRATOR = "administrator";

/** The end of an account's holds, with the operator and the reason. */
export interface Lift {
  readonly accountId: string;
  /** The newest alert that the operator has seen: later ones still hold the account. */
  readonly seen: string;
  readonly by: string;
  readonly reason: string;
  readonly now: Date;
}

/** The holds that ended, and what still keeps the account frozen. */
export interface Lifted {
  readonly holds: readonly PlacedHold[];
  readonly still: "held" | "frozen-by-user" | "left" | undefined;
}

export interface HoldStore {
  /**
   * Freezes until an administrator lifts the hold, with its event in one commit. Idempotent by alert, also
   * after the hold was lifted.
   */
  place(hold: Hold, now: Date): Promise<void>;
}

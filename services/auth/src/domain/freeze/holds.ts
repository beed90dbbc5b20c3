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

export interface HoldStore {
  /**
   * Freezes until an administrator lifts the hold, with its event in one commit. Idempotent by alert, also
   * after the hold was lifted.
   */
  place(hold: Hold, now: Date): Promise<void>;
}

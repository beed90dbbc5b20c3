import type { Clock } from "@countersign/core";

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

/** Who ended the holds of an account, and why. */
export interface Lift {
  readonly accountId: string;
  /** The newest alert that somebody has looked at: what came after it goes on holding. */
  readonly seen: string;
  readonly by: string;
  readonly reason: string;
  readonly now: Date;
}

/** What was ended, and what keeps the account frozen nevertheless. */
export interface Lifted {
  readonly holds: readonly PlacedHold[];
  readonly still: "held" | "frozen-by-user" | "left" | undefined;
}

export interface HoldStore {
  /** Freezes with its event in one commit. An alert holds once: also after it was lifted, again changes nothing. */
  place(hold: Hold, now: Date): Promise<void>;
  /** Ends the holds of the account up to the one that was seen, with their record and the event in one commit. */
  lift(lift: Lift): Promise<Lifted>;
  /** Holds that nobody has ended, the oldest first. */
  open(accountId?: string): Promise<readonly PlacedHold[]>;
}

/** Freezes an account until an operator has looked at what happened to it. */
export const holdAccount =
  ({ holds, clock }: { readonly holds: HoldStore; readonly clock: Clock }) =>
  (hold: Hold): Promise<void> =>
    holds.place(hold, clock.now());

/** The kinds of notices; also the key of each one's text, in every language of `texts/`. */
export type NoticeKind =
  | "new-sign-in"
  | "new-device"
  | "frozen"
  | "unfrozen"
  | "unfreeze-asked"
  | "unfreeze-cancelled"
  | "unknown-key"
  | "changed-on-chain"
  | "changed-and-frozen"
  | "account-left"
  | "recovery-sign-in"
  | "time-lock-started"
  | "time-lock-cancelled";

export interface DeliveryStore {
  /** Begins an event's notice: false where the account has had `limit` of its kind since then. True again for one that had begun. */
  begin(notice: {
    eventId: string;
    accountId: string;
    kind: string;
    at: Date;
    since: Date;
    limit: number;
  }): Promise<boolean>;
  /** Every device that the account ever had. */
  history(accountId: string): Promise<{ id: string; publicKey: string; createdAt: Date }[]>;
  forgetDeliveries(before: Date): Promise<void>;
}

/** A message to a person. */
export interface Mail {
  to: string;
  subject: string;
  text: string;
  /** The same for the same message, so that mail programs show a repeated one once. */
  id: string;
}

export interface Mailer {
  /** Resolves once the server has taken it, or where it never will. Rejects where it may later. */
  send(mail: Mail): Promise<void>;
  close(): void;
}

/** Where to write to the person; "" where nobody knows. */
export type FindEmail = (accountId: string) => Promise<string>;

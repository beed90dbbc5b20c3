import type { Delivery } from "../push/push-devices.ts";
import type { PushKind } from "../push/push-kinds.ts";

type WithoutPrefix<Kind> = Kind extends `notice.${infer Name}` ? Name : never;

/** The kinds of notices; also the keys of their texts in every language of `texts/`. */
export type NoticeKind = WithoutPrefix<PushKind>;

/** The texts of one language; the type makes each language have them all. */
export interface NoticeTexts {
  /** In front of the time of day. */
  readonly time: string;
  /** The advice of a notice that has none of its own. */
  readonly notYou: string;
  readonly notices: Readonly<Record<NoticeKind, NoticeSentences>>;
}

interface NoticeSentences {
  readonly subject: string;
  readonly what: string;
  readonly advice?: string;
}

/** A notice that is to begin: no more than `limit` of its kind since then. */
export interface NoticeStart extends Omit<Delivery, "target"> {
  readonly since: Date;
  readonly limit: number;
}

export interface DeliveryStore {
  /**
   * Begins an event's notice; false where the account had `limit` of its kind since then: it is held then, in
   * place of earlier ones of its kind but the oldest, which further ones do not put off. Idempotent. Race:
   * replicas that begin notices at the same moment do not count each other's.
   */
  begin(notice: NoticeStart): Promise<boolean>;
  /** Returns notices that were held before then, of events after this one, by event id: at most 100. */
  held(before: Date, after: string): Promise<Omit<Delivery, "target">[]>;
  /** Notes that a held notice was sent. */
  noteHeld(notice: Pick<Delivery, "eventId" | "accountId">): Promise<void>;
  /** Every device that the account ever had. */
  history(accountId: string): Promise<{ id: string; createdAt: Date }[]>;
  /** Returns whether some are left. */
  forgetDeliveries(before: Date): Promise<boolean>;
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
  /**
   * Resolves once the server has accepted the mail or refused it for good; rejects where a retry may succeed.
   */
  send(mail: Mail): Promise<void>;
  close(): void;
}

/** Returns the account's e-mail address, or "". */
export type FindEmail = (accountId: string) => Promise<string>;

import { AppError } from "./app-error.ts";
import { DAY_MS } from "./clock.ts";

/** The person who asks for a command of an administrator, by the certificate, and why. */
export interface Administrator {
  readonly person: string;
  readonly reason: string;
}

/** A command in the record of administrators' commands, before it is recorded. */
export interface AdminCommand {
  readonly command: string;
  /** Empty where it is about no account. */
  readonly accountId?: string | null | undefined;
  /** Nothing secret, and no e-mail address. */
  readonly arguments?: Readonly<Record<string, string | number | boolean>>;
}

/** A command that an administrator asked for, and that another person must approve. */
export interface AdminRequest extends Administrator {
  readonly id: string;
  readonly at: Date;
  readonly command: string;
  readonly accountId: string | null;
  readonly arguments: Readonly<Record<string, string | number | boolean>>;
}

/** A service's record of administrators' commands: a request and its decision are two rows. */
export interface AdminRecord {
  /** Records an act that is repeated until it has its effect, before it begins. Returns the record's id. */
  begin(by: Administrator, action: AdminCommand): Promise<string>;
  /** Records a request for another person. Returns its id. */
  request(by: Administrator, action: AdminCommand): Promise<string>;
  /** Returns a request that was not decided. */
  findRequest(id: string): Promise<AdminRequest | undefined>;
  /** Rejects a request. Returns the record's id. Errors: AdminRequestNotFound where it was decided. */
  reject(by: Administrator, request: AdminRequest): Promise<string>;
}

/** How long a request may be approved. */
export const REQUEST_GOOD_FOR_MS = DAY_MS;

/**
 * Requires that a person may decide a request. Each person may reject: that gives nobody access. An approval
 * names what the request is about: nobody approves a request unread, or another one by mistake. Whether it
 * was decided before, the database decides.
 * Errors: AdminRequestNotFound; SecondPersonRequired.
 */
export function requireMayDecide(
  request: AdminRequest | undefined,
  decision: {
    readonly person: string;
    readonly approve: boolean;
    /** Whether the decision names what the request is about. */
    readonly isNamed: boolean;
    readonly now: Date;
  },
): asserts request is AdminRequest {
  const { person, approve, isNamed, now } = decision;
  const isOpen = request && now.getTime() - request.at.getTime() < REQUEST_GOOD_FOR_MS;
  if (!isOpen || (approve && !isNamed)) throw new AppError("AdminRequestNotFound");
  if (approve && request.person === person) throw new AppError("SecondPersonRequired");
}

import {
  type AdminCommand,
  type Administrator,
  type AdminRecord,
  AppError,
  type Clock,
  requireMayDecide,
} from "@countersign/core";
import type { AdminStore, Effect } from "./ports.ts";

/** An effect, or a request for it. */
export interface Asked extends Effect {
  readonly outcome: "done" | "requested";
}

export interface TwoPersonOptions {
  readonly admin: AdminStore;
  readonly actions: Pick<AdminRecord, "request" | "findRequest" | "reject">;
  readonly clock: Clock;
  /** Whether another person must approve what gives access back or cannot be undone. */
  readonly twoPersons: boolean;
}

/** Runs a command for two persons, by its name in the record. Errors: AdminRequestNotFound; the command's. */
async function run(
  admin: AdminStore,
  by: Administrator,
  { command, accountId, arguments: given }: AdminCommand,
  requestId?: string,
): Promise<Effect> {
  const of = accountId ?? "";
  switch (command) {
    case "accounts unfreeze":
      return admin.liftHolds(by, { accountId: of, seen: String(given?.seen) }, requestId);
    case "person erase":
      return admin.erase(by, of, requestId);
    default:
      throw new AppError("AdminRequestNotFound");
  }
}

/**
 * Runs a command, or records the request for it where two persons are needed. The request does nothing: no
 * rule of the command is checked before the approval.
 */
export const askForTwo =
  ({ admin, actions, twoPersons }: TwoPersonOptions) =>
  async (by: Administrator, request: AdminCommand): Promise<Asked> => {
    if (!twoPersons) return { ...(await run(admin, by, request)), outcome: "done" };
    const actionId = await actions.request(by, request);
    const details = [`another person must approve it: requests approve ${actionId}`];
    return { actionId, details, outcome: "requested" };
  };

/** A person's decision about a request. */
export interface Decision {
  readonly requestId: string;
  readonly approve: boolean;
  /** The account whose request the person has read; a rejection need not name it. */
  readonly accountId?: string | undefined;
}

/** Approves or rejects a request. Errors: AdminRequestNotFound, SecondPersonRequired, and the command's. */
export const decideRequest =
  ({ admin, actions, clock }: Omit<TwoPersonOptions, "twoPersons">) =>
  async (by: Administrator, { requestId, approve, accountId }: Decision): Promise<Effect> => {
    const request = await actions.findRequest(requestId);
    const isNamed = request?.accountId === accountId;
    requireMayDecide(request, { person: by.person, approve, isNamed, now: clock.now() });
    if (!approve) return { actionId: await actions.reject(by, request), details: ["rejected"] };
    return run(admin, by, request, request.id);
  };

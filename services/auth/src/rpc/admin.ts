import { type ActionLog, accountField, administrator, requestsHandler } from "@countersign/admin-actions";
import type { AdminCommand, Administrator } from "@countersign/core";
import type { AdminService, Outcome } from "@countersign/proto/auth/v1/admin.ts";
import { type CallContext, type Handlers, parseRequest, uuidField } from "@countersign/rpc";
import { z } from "zod";
import { type Asked, askForTwo, decideRequest, type TwoPersonOptions } from "../domain/admin/decide-request.ts";
import { type CancelOptions, cancelSignUp, type ResumeOptions, resumeSignUp } from "../domain/admin/end-sign-up.ts";
import type { AdminStore, Effect } from "../domain/admin/ports.ts";

export interface AdminOptions extends ResumeOptions, CancelOptions, TwoPersonOptions {
  readonly admin: AdminStore;
  readonly actions: ActionLog;
}

const account = z.object({ accountId: uuidField });
const signUp = account.extend({ chainName: z.string().min(1).max(64) });
const lift = account.extend({ seenAlertId: uuidField });
const decision = z.object({ accountId: accountField, requestId: uuidField, approve: z.boolean() });

const outcome = (effect: Effect | Asked): { outcome: Outcome } => ({
  outcome: { outcome: "done", ...effect, details: [...effect.details] },
});

type Asking = { readonly reason: string; readonly accountId?: string };

/** Handles auth.v1.Admin. */
export function authAdminHandlers(options: AdminOptions): Handlers<AdminService> {
  const { admin, actions } = options;
  const ask = askForTwo(options);
  const decide = decideRequest(options);
  const resume = resumeSignUp(options);
  const cancel = cancelSignUp(options);

  /** Runs an act of an administrator, whose refusal is recorded. */
  async function act<T extends { accountId?: string | undefined }>(
    command: string,
    shape: z.ZodType<T>,
    request: Asking,
    call: CallContext,
    work: (by: Administrator, given: T) => Promise<Effect | Asked>,
  ) {
    const by = administrator(call, command, request);
    const given = parseRequest(shape, request);
    const { accountId = "", ...rest } = given;
    return outcome(
      await actions.act(by, { command, accountId, arguments: rest as AdminCommand["arguments"] & object }, () =>
        work(by, given),
      ),
    );
  }

  return {
    async listHolds(request, call) {
      const by = administrator(call, "accounts holds", request);
      const { accountId } = parseRequest(z.object({ accountId: accountField }), request);
      await actions.read(by, { command: "accounts holds", accountId });
      return { holds: [...(await admin.openHolds(accountId || undefined))] };
    },

    holdAccount: (request, call) =>
      act("accounts freeze", account, request, call, (by, { accountId }) => admin.hold(by, accountId)),

    liftHolds: (request, call) =>
      act("accounts unfreeze", lift, request, call, (by, { accountId, seenAlertId: seen }) =>
        ask(by, { command: "accounts unfreeze", accountId, arguments: { seen } }),
      ),

    endSessions: (request, call) =>
      act("accounts end-sessions", account, request, call, (by, { accountId }) => admin.endSessions(by, accountId)),

    resumeSignUp: (request, call) =>
      act("sign-ups resume", signUp, request, call, (by, given) => resume(by, given, call)),

    cancelSignUp: (request, call) =>
      act("sign-ups cancel", signUp, request, call, (by, given) => cancel(by, given, call)),

    erasePerson: (request, call) =>
      act("person erase", account, request, call, (by, { accountId }) =>
        ask(by, { command: "person erase", accountId }),
      ),

    listRequests: requestsHandler(actions),

    decideRequest: (request, call) => {
      const command = request.approve ? "requests approve" : "requests reject";
      return act(command, decision, request, call, (by, given) => decide(by, given));
    },
  };
}

import { invalidField } from "@countersign/core";
import { type Action, type AdminService, TermKind } from "@countersign/proto/admin/v1/admin.ts";
import { type CallContext, type Handlers, parseRequest, uuidField } from "@countersign/rpc";
import { z } from "zod";
import type { AccountReadings, Term } from "./account-readings.ts";
import type { ActionLog, ActionRow } from "./action-log.ts";
import { accountField, administrator } from "./administrator.ts";

const MAX_ACTIONS = 200;
const SOME_ACTIONS = 50;

const printable = z.string().regex(/^\P{Cc}+$/u, "is empty or has control characters");
const TERMS = {
  [TermKind.TERM_KIND_ID]: { kind: "id", shape: uuidField },
  [TermKind.TERM_KIND_EMAIL]: { kind: "email", shape: printable.max(320).includes("@") },
  [TermKind.TERM_KIND_ADDRESS]: {
    kind: "address",
    shape: z.string().regex(/^([0-9a-f]{16}|0x[0-9a-f]{40})$/, "is no address in lower case"),
  },
  [TermKind.TERM_KIND_KEY]: {
    kind: "key",
    shape: z.string().regex(/^([0-9a-f]{64}|[0-9a-f]{128})$/, "is no public key in hex"),
  },
} as const;
const identity = printable.max(1024).regex(/^\S+ .+$/, "is no issuer and subject");

/** Validates a term. Errors: InvalidRequest. */
function termOf(kind: TermKind, term: string): Term {
  if (kind === TermKind.TERM_KIND_IDENTITY) {
    const text = parseRequest(z.object({ term: identity }), { term }).term;
    const blank = text.indexOf(" ");
    return { kind: "identity", issuer: text.slice(0, blank), subject: text.slice(blank + 1) };
  }
  const known = Object.hasOwn(TERMS, kind) ? TERMS[kind as keyof typeof TERMS] : undefined;
  if (!known) throw invalidField("/kind", "is not set");
  return { kind: known.kind, text: parseRequest(z.object({ term: known.shape }), { term }).term };
}

/** Personal terms are not recorded: the accounts that they found are. */
const shownTerm = (term: Term): string => (term.kind === "email" || term.kind === "identity" ? "" : term.text);

const actionToProto = ({ accountId, arguments: given, requestId, ...row }: ActionRow): Action => ({
  ...row,
  accountId: accountId ?? "",
  argumentsJson: JSON.stringify(given),
  requestId: requestId ?? "",
});

const oneAccount = z.object({ accountId: uuidField });
const page = z.object({
  accountId: accountField,
  beforeId: accountField,
  limit: z.number().int().min(0).max(MAX_ACTIONS, `is more than ${MAX_ACTIONS}`),
});

/** Handles a service's part of `requests list`. */
export const requestsHandler =
  (actions: ActionLog) => async (request: { readonly reason: string }, call: CallContext) => {
    const command = "requests list";
    await actions.read(administrator(call, command, request), { command });
    return { requests: (await actions.openRequests()).map(actionToProto) };
  };

/** Handles admin.v1.Admin. Each read is recorded before it is answered. */
export function adminHandlers(options: {
  readonly actions: ActionLog;
  readonly readings: AccountReadings;
}): Handlers<AdminService> {
  const { actions, readings } = options;
  return {
    async findAccounts(request, call) {
      const by = administrator(call, "find", request);
      const term = termOf(request.kind, request.term);
      const accountIds = await readings.find(term);
      const found = accountIds.join(" ");
      await actions.read(by, { command: "find", arguments: { kind: term.kind, term: shownTerm(term), found } });
      return { accountIds };
    },

    async describeAccount(request, call) {
      const by = administrator(call, "describe", request);
      const { accountId } = parseRequest(oneAccount, request);
      await actions.read(by, { command: "describe", accountId });
      return { tables: await readings.describe(accountId) };
    },

    async describeService(request, call) {
      const by = administrator(call, "overview", request);
      await actions.read(by, { command: "overview" });
      return { tables: await readings.overview() };
    },

    async *exportPerson(request, call) {
      const by = administrator(call, "person export", request);
      const { accountId } = parseRequest(oneAccount, request);
      await actions.read(by, { command: "person export", accountId });
      yield* readings.exportRows(accountId);
    },

    async listActions(request, call) {
      const by = administrator(call, "actions list", request);
      const { accountId, beforeId, limit } = parseRequest(page, request);
      await actions.read(by, { command: "actions list", accountId });
      const rows = await actions.list({ accountId, beforeId, limit: limit || SOME_ACTIONS });
      return { actions: rows.map(actionToProto) };
    },
  };
}

import type { Queries } from "@countersign/postgres";
import { type CallContext, parseRequest } from "@countersign/rpc";
import { z } from "zod";
import type { ActionLog } from "./action-log.ts";
import { accountField, administrator } from "./administrator.ts";

const MAX_COMPARED = 10_000;
const COMPARED = 1_000;
/** Accounts that are compared at once: each asks the chain. */
const AT_ONCE = 4;

/** One account, or a page of all. */
const pageField = z.object({
  accountId: accountField,
  afterAccountId: accountField,
  limit: z
    .number()
    .int()
    .min(0)
    .max(MAX_COMPARED, `is more than ${MAX_COMPARED}`)
    .transform((limit) => limit || COMPARED),
});

/** Yields the differences of each account, in the order of the ids. An account that fails is a difference. */
export async function* comparePage(
  ids: readonly string[],
  compare: (accountId: string) => Promise<string[]>,
  signal: AbortSignal,
): AsyncGenerator<{ accountId: string; differences: string[] }> {
  for (let start = 0; start < ids.length; start += AT_ONCE) {
    signal.throwIfAborted();
    const some = ids.slice(start, start + AT_ONCE).map(async (accountId) => ({
      accountId,
      differences: await compare(accountId).catch((error: unknown) => [`not compared: ${(error as Error).message}`]),
    }));
    yield* await Promise.all(some);
  }
}

/** Returns ids of accounts after one, or the first ones, in their order. */
export type AccountsAfter = (after: string, limit: number) => Promise<string[]>;

/** Reads the ids in a column of a table; both names are ours. */
export const accountsAfter =
  (queries: Queries, table: string, column: string): AccountsAfter =>
  async (after, limit) => {
    const text = `
      SELECT DISTINCT "${column}" AS id FROM "${table}"
      WHERE $1::text = '' OR "${column}" > NULLIF($1::text, '')::uuid ORDER BY id LIMIT $2::int`;
    const rows = await queries.query<{ id: string }>({ name: `ids of ${table}`, text, values: [after, limit] });
    return rows.map(({ id }) => id);
  };

/** Handles a service's part of `drift`: compares one account, or a page of all, with the chain. */
export const driftHandler = (
  actions: ActionLog,
  accountsAfter: AccountsAfter,
  compare: (accountId: string, signal: AbortSignal) => Promise<string[]>,
) =>
  async function* (request: z.input<typeof pageField> & { readonly reason: string }, call: CallContext) {
    const command = "drift";
    const by = administrator(call, command, request);
    const { accountId, afterAccountId, limit } = parseRequest(pageField, request);
    await actions.read(by, { command, accountId, arguments: { afterAccountId, limit } });
    const ids = accountId ? [accountId] : await accountsAfter(afterAccountId, limit);
    yield* comparePage(ids, (id) => compare(id, call.signal), call.signal);
  };

import { z } from "zod";
import { accountField } from "./administrator.ts";

const MAX_COMPARED = 10_000;
const COMPARED = 1_000;
/** Accounts that are compared at once: each asks the chain. */
const AT_ONCE = 4;

/** One account, or a page of all. */
export const pageField = z.object({
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

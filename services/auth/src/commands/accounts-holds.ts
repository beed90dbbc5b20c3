import { isUuid } from "@countersign/core";
import { type Command, UsageError } from "@countersign/runtime";
import { withHolds } from "./with-holds.ts";

/**
 * `auth accounts holds`: which accounts wait for an operator, and for which event on chain; one line for each
 * alert.
 */
export const accountsHolds: Command = {
  usage: "accounts holds [<account id>]",
  async run({ args, env, print }) {
    const [accountId, ...rest] = args;
    if (rest.length > 0 || (accountId !== undefined && !isUuid(accountId))) throw new UsageError(accountsHolds.usage);
    const holds = await withHolds(env, ({ open }) => open(accountId));
    for (const { placedAt, accountId, alertId, chainName, eventType, transactionId } of holds) {
      print([placedAt.toISOString(), accountId, alertId, chainName, eventType, transactionId].join(" "));
    }
    return 0;
  },
};

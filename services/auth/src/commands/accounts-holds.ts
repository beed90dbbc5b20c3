import { isUuid } from "@countersign/core";
import { command, UsageError } from "@countersign/runtime";
import { withHolds } from "./with-holds.ts";

/**
 * `auth accounts holds`: lists the accounts that wait for an operator and the events on chain, one line for
 * each alert.
 */
export const accountsHolds = command({
  usage: "accounts holds [<account id>]",
  about: "Lists which accounts wait for an operator, and for which event on chain; one line for each alert.",
  options: {},
  positionals: true,
  async run({ positionals, env, print }) {
    const [accountId, ...rest] = positionals;
    if (rest.length > 0 || (accountId !== undefined && !isUuid(accountId))) throw new UsageError(this.usage);
    const holds = await withHolds(env, ({ open }) => open(accountId));
    for (const { placedAt, accountId, alertId, chainName, eventType, transactionId } of holds) {
      print([placedAt.toISOString(), accountId, alertId, chainName, eventType, transactionId].join(" "));
    }
    return 0;
  },
});

import { isUuid, systemClock } from "@countersign/core";
import { command, UsageError } from "@countersign/runtime";
import { withHolds } from "./with-holds.ts";

/**
 * `auth accounts unfreeze`: lifts the freeze of the chain watch up to the alert that the operator has looked
 * at; later alerts keep the account frozen. The table account_hold keeps the operator, time and reason. Exit
 * code 1 where nothing was lifted.
 */
export const accountsUnfreeze = command({
  usage: "accounts unfreeze <account id> --seen <newest alert looked at> --by <operator> --reason <text>",
  about: "Lifts the freeze of the chain watch, up to the alert that was seen. Exit code 1 where nothing was lifted.",
  options: { seen: { type: "string" }, by: { type: "string" }, reason: { type: "string" } },
  positionals: true,
  async run({ values, positionals, env, print }) {
    const [accountId, ...rest] = positionals;
    const { seen } = values;
    const [by, reason] = [values.by?.trim(), values.reason?.trim()];
    if (!accountId || !isUuid(accountId) || rest.length > 0 || !seen || !isUuid(seen) || !by || !reason)
      throw new UsageError(this.usage);
    const now = systemClock.now();
    const { holds, still } = await withHolds(env, ({ lift }) => lift({ accountId, seen, by, reason, now }));
    for (const { alertId, chainName, eventType, transactionId } of holds) {
      print(`lifted ${alertId}: ${chainName} ${eventType} ${transactionId}`);
    }
    if (still === "held") print("still frozen: by alerts that came later, or another alert was named");
    else if (still === "frozen-by-user") print("still frozen: by the person, who can lift that");
    else if (still === "left") print("still frozen: the account has left the service");
    if (holds.length === 0) print("nothing was lifted");
    return holds.length === 0 ? 1 : 0;
  },
});

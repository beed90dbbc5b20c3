import type { Outcome } from "@countersign/proto/auth/v1/admin.ts";
import { UsageError } from "@countersign/runtime";
import { type Asked, adminCommand } from "../admin-command.ts";
import { neutralize, tableLines } from "../output.ts";

/** Prints what became of an act. */
export function showOutcome({ show }: Asked, outcome: Outcome | undefined): undefined {
  const { actionId = "", outcome: result = "", details = [] } = outcome ?? {};
  show(outcome ?? {}, () => [`${result}: action ${actionId}`, ...details.map(neutralize)]);
}

export const accountsFreeze = adminCommand({
  usage: "accounts freeze <account id>",
  about: "Freezes an account: nothing is signed for it until an administrator lifts that.",
  arguments: [1, 1],
  async run(asked) {
    const { services, reason, given } = asked;
    return showOutcome(asked, (await services.auth.holdAccount({ reason, accountId: given[0]! })).outcome);
  },
});

export const accountsUnfreeze = adminCommand({
  usage: "accounts unfreeze <account id> --seen <newest alert looked at>",
  about: "Asks to lift the freeze of an account up to an alert; later alerts keep it frozen. For two persons.",
  options: ["seen"],
  arguments: [1, 1],
  async run(asked) {
    const { services, reason, given, option } = asked;
    const seenAlertId = option("seen");
    if (seenAlertId === undefined) throw new UsageError(this.usage, "--seen is missing");
    return showOutcome(asked, (await services.auth.liftHolds({ reason, accountId: given[0]!, seenAlertId })).outcome);
  },
});

export const accountsHolds = adminCommand({
  usage: "accounts holds [<account id>]",
  about: "Lists the accounts that the chain watch or an administrator froze, one line for each alert.",
  arguments: [0, 1],
  async run({ services, reason, given, show }) {
    const { holds } = await services.auth.listHolds({ reason, accountId: given[0] ?? "" });
    show(holds, () =>
      tableLines(
        ["placed at", "account", "alert", "chain", "event", "transaction"],
        holds.map(({ placedAt, accountId, alertId, chainName, eventType, transactionId }) => [
          placedAt?.toISOString() ?? "",
          accountId,
          alertId,
          chainName,
          eventType,
          transactionId,
        ]),
      ),
    );
    return undefined;
  },
});

export const accountsEndSessions = adminCommand({
  usage: "accounts end-sessions <account id>",
  about: "Ends all sessions of an account. Its devices may sign in again.",
  arguments: [1, 1],
  async run(asked) {
    const { services, reason, given } = asked;
    return showOutcome(asked, (await services.auth.endSessions({ reason, accountId: given[0]! })).outcome);
  },
});

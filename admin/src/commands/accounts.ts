import { actCommand } from "../act-command.ts";
import { adminCommand } from "../admin-command.ts";

export const accountsFreeze = actCommand({
  usage: "accounts freeze <account id>",
  about: "Freezes an account: nothing is signed for it until an administrator lifts that.",
  arguments: ["accountId"],
  act: async ({ auth }, request) => (await auth.holdAccount(request)).outcome,
});

export const accountsUnfreeze = actCommand({
  usage: "accounts unfreeze <account id> --seen <newest alert looked at>",
  about: "Asks to lift the freeze of an account up to an alert; later alerts keep it frozen. For two persons.",
  arguments: ["accountId"],
  options: { seenAlertId: "seen" },
  act: async ({ auth }, request) => (await auth.liftHolds(request)).outcome,
});

export const accountsHolds = adminCommand({
  usage: "accounts holds [<account id>]",
  about: "Lists the accounts that the chain watch or an administrator froze by their newest alert, or all of one.",
  arguments: [0, 1],
  async run({ services, reason, given, table }) {
    const { holds } = await services.auth.listHolds({ reason, accountId: given[0] ?? "" });
    table(holds, {
      "placed at": ({ placedAt }) => placedAt?.toISOString() ?? "",
      account: ({ accountId }) => accountId,
      alert: ({ alertId }) => alertId,
      chain: ({ chainName }) => chainName,
      event: ({ eventType }) => eventType,
      transaction: ({ transactionId }) => transactionId,
    });
  },
});

export const accountsEndSessions = actCommand({
  usage: "accounts end-sessions <account id>",
  about: "Ends all sessions of an account. Its devices may sign in again.",
  arguments: ["accountId"],
  act: async ({ auth }, request) => (await auth.endSessions(request)).outcome,
});

import { UsageError } from "@countersign/runtime";
import { actCommand } from "../act-command.ts";
import { adminCommand } from "../admin-command.ts";
import { neutralize } from "../output.ts";
import { SERVICES, type ServiceName } from "../services.ts";

export const requestsList = adminCommand({
  usage: "requests list",
  about: "Lists the requests that wait for another person, who has 24 hours.",
  async run({ services, reason, show }) {
    const { requests } = await services.auth.listRequests({ reason });
    // Whole: the one who approves decides by the reason and the arguments.
    show(requests, () =>
      requests.flatMap(({ id, at, person, command, accountId, argumentsJson, reason: why }) =>
        [
          `request ${id}, ${at?.toISOString()}, by ${person}`,
          `  ${command} ${accountId} ${argumentsJson}`,
          `  reason: ${why}`,
        ].map(neutralize),
      ),
    );
  },
});

export const requestsApprove = actCommand({
  usage: "requests approve <request id> --account <account id>",
  about: "Approves a request of another person, which then takes effect; --account is the request's.",
  arguments: ["requestId"],
  options: { accountId: "account" },
  act: async ({ auth }, request) => (await auth.decideRequest({ ...request, approve: true })).outcome,
});

export const requestsReject = actCommand({
  usage: "requests reject <request id>",
  about: "Rejects a request; also the person who asked may.",
  arguments: ["requestId"],
  act: async ({ auth }, request) => (await auth.decideRequest({ ...request, approve: false, accountId: "" })).outcome,
});

export const actionsList = adminCommand({
  usage: "actions list [--account <account id>] [--service <name>] [--before <id>] [--limit <n>]",
  about: "Lists what administrators did, and why, the newest first.",
  options: ["account", "service", "before", "limit"],
  async run({ services, reason, table, option, limit: limitOr }) {
    const limit = limitOr(50);
    const named = option("service");
    if (named !== undefined && !SERVICES.some((name) => name === named))
      throw new UsageError(this.usage, "no such service");
    const asked = named === undefined ? SERVICES : [named as ServiceName];
    const request = { reason, accountId: option("account") ?? "", beforeId: option("before") ?? "", limit };
    const answers = await Promise.all(
      asked.map(async (service) => {
        const { actions } = await services.each[service].listActions(request);
        return actions.map((action) => ({ service, ...action }));
      }),
    );
    const actions = answers
      .flat()
      .sort((a, b) => (a.id < b.id ? 1 : -1))
      .slice(0, limit);
    table(actions, {
      at: ({ at }) => at?.toISOString() ?? "",
      service: ({ service }) => service,
      person: ({ person }) => person,
      command: ({ command }) => command,
      outcome: ({ outcome }) => outcome,
      account: ({ accountId }) => accountId,
      id: ({ id }) => id,
      arguments: ({ argumentsJson }) => argumentsJson,
      reason: ({ reason: why }) => why,
    });
  },
});

import type { Action } from "@countersign/proto/admin/v1/admin.ts";
import { UsageError } from "@countersign/runtime";
import { adminCommand } from "../admin-command.ts";
import { neutralize, tableLines } from "../output.ts";
import { SERVICES, type ServiceName } from "../services.ts";
import { showOutcome } from "./accounts.ts";

const actionLines = (actions: readonly (Action & { service?: string })[]) =>
  tableLines(
    ["at", "service", "person", "command", "outcome", "account", "id", "arguments", "reason"],
    actions.map(({ at, service = "auth", person, command, outcome, accountId, id, argumentsJson, reason }) => [
      at?.toISOString() ?? "",
      service,
      person,
      command,
      outcome,
      accountId,
      id,
      argumentsJson,
      reason,
    ]),
  );

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
    return undefined;
  },
});

const decide = (word: "approve" | "reject", about: string) =>
  adminCommand({
    usage: `requests ${word} <request id>`,
    about,
    arguments: [1, 1],
    async run(asked) {
      const { services, reason, given } = asked;
      const decision = { reason, requestId: given[0]!, approve: word === "approve" };
      return showOutcome(asked, (await services.auth.decideRequest(decision)).outcome);
    },
  });

export const requestsApprove = decide("approve", "Approves a request of another person, which then takes effect.");
export const requestsReject = decide("reject", "Rejects a request; also the person who asked may.");

export const actionsList = adminCommand({
  usage: "actions list [--account <account id>] [--service <name>] [--before <id>] [--limit <n>]",
  about: "Lists what administrators did, and why, the newest first.",
  options: ["account", "service", "before", "limit"],
  async run({ services, reason, show, option }) {
    const limit = Number(option("limit") ?? 50);
    const named = option("service");
    if (!Number.isInteger(limit) || limit < 1) throw new UsageError(this.usage, "--limit is no number");
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
    show(actions, () => actionLines(actions));
    return undefined;
  },
});

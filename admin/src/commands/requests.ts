import { isAppError } from "@countersign/core";
import { UsageError } from "@countersign/runtime";
import { actCommand, showActed } from "../act-command.ts";
import { adminCommand } from "../admin-command.ts";
import { neutralize } from "../output.ts";
import { DECIDING, SERVICES, type ServiceName } from "../services.ts";
import { approveRemoval } from "./signer.ts";

export const requestsList = adminCommand({
  usage: "requests list",
  about: "Lists the requests that wait for another person, who has 24 hours.",
  async run({ services, reason, show }) {
    // A service that does not answer does not hide the requests at the others.
    const lists = await Promise.allSettled(DECIDING.map((service) => services[service].listRequests({ reason })));
    const requests = lists.flatMap((list) => (list.status === "fulfilled" ? list.value.requests : []));
    const failed = lists.find((list) => list.status === "rejected");
    if (failed !== undefined && requests.length === 0) throw failed.reason;
    // Whole: the one who approves decides by the reason and the arguments.
    show(requests, () =>
      requests.flatMap(({ id, at, person, command, accountId, argumentsJson, reason: why }) =>
        [
          `request ${id}, ${at?.toISOString()}, by ${person}`,
          `  ${[command, accountId, argumentsJson].filter(Boolean).join(" ")}`,
          `  reason: ${why}`,
        ].map(neutralize),
      ),
    );
    if (failed !== undefined) throw failed.reason;
  },
});

export const requestsApprove = adminCommand({
  usage: "requests approve <request id> (--account <account id> | --archive <file>)",
  about:
    "Approves a request of another person, which then takes effect. --account is the request's; --archive is a copy of the request's file, which is read.",
  options: ["account", "archive"],
  arguments: [1, 1],
  async run(asked) {
    const [requestId, accountId, archive] = [asked.given[0]!, asked.option("account"), asked.option("archive")];
    if ((accountId === undefined) === (archive === undefined))
      throw new UsageError(this.usage, "--account or --archive says what is approved");
    if (archive !== undefined) return approveRemoval(this.usage, asked, requestId, archive);
    const decision = { reason: asked.reason, requestId, accountId: accountId!, approve: true };
    showActed(asked, (await asked.services.auth.decideRequest(decision)).outcome);
  },
});

export const requestsReject = actCommand({
  usage: "requests reject <request id>",
  about: "Rejects a request; also the person who asked may.",
  arguments: ["requestId"],
  async act({ auth, signer }, request) {
    const rejection = { ...request, approve: false };
    const atAuth = async () => (await auth.decideRequest({ ...rejection, accountId: "" })).outcome;
    const atSigner = async () => {
      for await (const { actionId } of signer.decideRequest({ ...rejection, sha256: "" }))
        return { actionId, details: ["rejected"] };
      return undefined;
    };
    // Only one of them knows the request, and the other one may be away.
    try {
      return await Promise.any([atAuth(), atSigner()]);
    } catch (error) {
      const { errors } = error as AggregateError;
      throw errors.find((each) => !isAppError(each, "AdminRequestNotFound")) ?? errors[0];
    }
  },
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

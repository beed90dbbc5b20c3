import { UsageError } from "@countersign/runtime";
import { actCommand } from "../act-command.ts";
import { adminCommand } from "../admin-command.ts";

export const webhooksList = adminCommand({
  usage: "webhooks list",
  about: "Lists the endpoints of webhooks: how many messages wait there, were given up, and how the oldest failed.",
  async run({ services, reason, table }) {
    const { endpoints } = await services.device.listWebhooks({ reason });
    table(endpoints, {
      endpoint: ({ id }) => id,
      app: ({ appId }) => appId,
      origin: ({ origin }) => origin,
      secrets: ({ secrets }) => String(secrets),
      waiting: ({ waiting }) => String(waiting),
      dead: ({ dead }) => String(dead),
      "oldest waits since": ({ oldestAt }) => oldestAt?.toISOString() ?? "",
      "last result": ({ lastResult }) => lastResult,
    });
  },
});

export const webhooksTest = actCommand({
  usage: "webhooks test <endpoint>",
  about: "Sends a message of type webhook.test to an endpoint, once, and says what it answered.",
  arguments: ["endpoint"],
  act: async ({ device }, request) => {
    const { actionId, delivered, result } = await device.testWebhook(request);
    return { actionId, outcome: delivered ? "delivered" : "not delivered", details: [result] };
  },
});

export const webhooksReplay = adminCommand({
  usage: "webhooks replay <endpoint> [--event <id>] [--from <time>] [--to <time>] [--dead]",
  about: "Sends messages of the last ten days again: one, those of a time, or with --dead those that were given up.",
  arguments: [1, 1],
  options: ["event", "from", "to"],
  flags: ["dead"],
  async run({ services, reason, given: [endpoint = ""], option, flag, show, progress }) {
    const time = (name: string): Date | undefined => {
      const text = option(name);
      if (text === undefined) return undefined;
      const date = new Date(text);
      if (Number.isNaN(date.getTime())) throw new UsageError(webhooksReplay.usage, `--${name} is no time (ISO 8601)`);
      return date;
    };
    const [eventId = "", to] = [option("event"), time("to")];
    const request = { reason, endpoint, eventId, to, deadOnly: flag("dead") };
    let [from, replayed] = [time("from"), 0];
    let [actionId, endedBefore]: [string?, Date?] = [];
    do {
      const answer = await services.device.replayWebhooks({ ...request, from, endedBefore });
      ({ actionId, nextFrom: from, endedBefore } = answer);
      replayed += answer.replayed;
      if (from) progress(`messages to be sent again: ${replayed} so far`);
    } while (from);
    show({ actionId, replayed }, () => [`done: action ${actionId}`, `messages to be sent again: ${replayed}`]);
  },
});

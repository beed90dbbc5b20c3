import { type ActionLog, administrator } from "@countersign/admin-actions";
import { invalidField, type Watched } from "@countersign/core";
import type { AdminService } from "@countersign/proto/device/v1/admin.ts";
import { type CallContext, type Handlers, parseRequest, textField, uuidField } from "@countersign/rpc";
import { z } from "zod";
import { cancelTwoFactor, type EndTwoFactorOptions, resumeTwoFactor } from "../domain/admin/end-two-factor.ts";
import type { WebhookEndpoint } from "../webhooks/config.ts";
import type { WebhookStore } from "../webhooks/ports.ts";
import type { Attempt } from "../webhooks/send.ts";

const ofTwoFactor = z.object({ accountId: uuidField, twoFactorId: uuidField });

const replayed = z.object({
  endpoint: textField(64),
  eventId: z.union([z.literal(""), uuidField]),
  from: z.date().optional(),
  to: z.date().optional(),
  deadOnly: z.boolean(),
  endedBefore: z.date().optional(),
});

type Request = z.input<typeof ofTwoFactor> & { reason: string };

interface AdminWebhooks {
  readonly endpoints: Watched<readonly WebhookEndpoint[]>;
  readonly store: Pick<WebhookStore, "replay" | "states">;
  test(endpoint: string): Promise<Attempt | undefined>;
}

export interface DeviceAdminOptions extends EndTwoFactorOptions {
  readonly actions: ActionLog;
  readonly webhooks: AdminWebhooks;
}

/** Handles device.v1.Admin. */
export function deviceAdminHandlers(options: DeviceAdminOptions): Handlers<AdminService> {
  async function act(command: string, work: ReturnType<typeof cancelTwoFactor>, request: Request, call: CallContext) {
    const by = administrator(call, command, request);
    const of = parseRequest(ofTwoFactor, request);
    const { accountId, twoFactorId } = of;
    const action = { command, accountId, arguments: { twoFactorId } };
    const { actionId, request: after } = await options.actions.act(by, action, () => work(by, of));
    return { actionId, status: after.status };
  }
  const resume = resumeTwoFactor(options);
  const cancel = cancelTwoFactor(options);
  return {
    resumeTwoFactor: (request, call) => act("key-additions resume", resume, request, call),
    cancelTwoFactor: (request, call) => act("key-additions cancel", cancel, request, call),
    ...webhookHandlers(options),
  };
}

type WebhookMethods = "listWebhooks" | "testWebhook" | "replayWebhooks";

function webhookHandlers(options: DeviceAdminOptions): Pick<Handlers<AdminService>, WebhookMethods> {
  const { actions, clock, webhooks } = options;
  const { endpoints, store } = webhooks;
  const requireEndpoint = (id: string): void => {
    if (!endpoints.current().some((each) => each.id === id))
      throw invalidField("/endpoint", "no endpoint of DEVICE_WEBHOOKS_FILE has this id");
  };
  return {
    async listWebhooks(request, call) {
      const by = administrator(call, "webhooks list", request);
      await actions.read(by, { command: "webhooks list" });
      const configured = endpoints.current();
      const states = await store.states(configured.map(({ id }) => id));
      return {
        endpoints: configured.map(({ id, appId, url, secrets }, i) => {
          const { waiting = 0, dead = 0, oldestAt, lastError: lastResult = "" } = states[i] ?? {};
          const { origin } = new URL(url);
          return { id, appId, origin, secrets: secrets.length, waiting, dead, oldestAt, lastResult };
        }),
      };
    },

    async testWebhook(request, call) {
      const command = "webhooks test";
      const by = administrator(call, command, request);
      const { endpoint } = parseRequest(z.object({ endpoint: textField(64) }), request);
      requireEndpoint(endpoint);
      const actionId = await actions.begin(by, { command, arguments: { endpoint } });
      const { delivered = false, text: result = "there is no such endpoint" } = (await webhooks.test(endpoint)) ?? {};
      return { actionId, delivered, result };
    },

    async replayWebhooks(request, call) {
      const command = "webhooks replay";
      const by = administrator(call, command, request);
      const now = clock.now();
      const { endpoint, eventId, from, to, deadOnly, endedBefore = now } = parseRequest(replayed, request);
      requireEndpoint(endpoint);
      if (eventId === "" && from === undefined) throw invalidField("/from", "name an event, or a time to begin at");
      const range = { from: from?.toISOString() ?? "", to: to?.toISOString() ?? "" };
      const actionId = await actions.begin(by, { command, arguments: { endpoint, eventId, ...range, deadOnly } });
      const of = { endpoint, eventId: eventId || undefined, from, to, deadOnly, endedBefore };
      return { actionId, endedBefore, ...(await store.replay(of, now)) };
    },
  };
}

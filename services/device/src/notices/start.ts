import { asOutsidePort, type Clock, DAY_MS, HOUR_MS, type Logger, MINUTE_MS, type Watched } from "@countersign/core";
import type { ServiceRuntime } from "@countersign/runtime";
import type { DeviceStore } from "../domain/devices/device-store.ts";
import type { TwoFactorStore } from "../domain/two-factor/ports.ts";
import { loadPushAdapters } from "../push/load-adapters.ts";
import { onTwoFactorChanged } from "../push/on-two-factor-changed.ts";
import { type Deliveries, type PushTokens, pushDevices } from "../push/push-devices.ts";
import type { NotifyConfig } from "./config.ts";
import { createLogMailer } from "./log-mailer.ts";
import { type OnNoticeEventOptions, onNoticeEvent } from "./on-event.ts";
import type { DeliveryStore, FindEmail, Mail, Mailer } from "./ports.ts";
import { sendHeldNotices, sendNotice } from "./send-notice.ts";
import { createSmtpMailer } from "./smtp-mailer.ts";

interface NotificationsOptions {
  /** May change: pushes and mails then use other credentials. */
  config: Watched<NotifyConfig>;
  devices: Pick<DeviceStore, "listLive">;
  requests: Pick<TwoFactorStore, "find">;
  deliveries: Deliveries & DeliveryStore & PushTokens;
  findEmail: FindEmail;
  recordUse: OnNoticeEventOptions["recordUse"];
  maxPerDay: number;
}

/** Concurrent events: every sign-in is one, and pushes and mails wait for external servers. */
const MAX_CONCURRENT_EVENTS = 100;
/** Longer than an event can be delivered again: the stream keeps events for a week. */
const DELIVERY_RETENTION_MS = 8 * DAY_MS;
/** Milliseconds for which pushes and mails may be under way with credentials that were replaced. */
const REPLACED_MS = 60_000;

/** Starts the consumers that push two-factor requests and send notices by push and e-mail. */
export function startNotifications(runtime: ServiceRuntime, options: NotificationsOptions): void {
  const { clock, consume, every, onClose } = runtime;
  const { config, devices, requests, deliveries, findEmail, recordUse, maxPerDay } = options;
  const logger = runtime.logger.child({ component: "notifications" });
  const { adapters, mailer, closeOutside } = openOutside(config, { clock, logger });
  onClose("pushes and mails", closeOutside);
  const push = pushDevices({ adapters, tokens: deliveries, deliveries, clock, logger });
  const sending = { devices, deliveries, push, mailer, findEmail, clock, logger };
  const send = sendNotice({ ...sending, maxPerDay });
  const concurrency = MAX_CONCURRENT_EVENTS;
  consume({ durable: "device-push", concurrency, handler: onTwoFactorChanged({ devices, requests, push }) });
  consume({ durable: "device-notices", concurrency, handler: onNoticeEvent({ deliveries, recordUse, send }) });
  every(MINUTE_MS, "send held notices", sendHeldNotices(sending));
  every(HOUR_MS, "forget deliveries", () =>
    deliveries.forgetDeliveries(new Date(clock.now().getTime() - DELIVERY_RETENTION_MS)),
  );
}

/** Opens the services of pushes and mails, and others when the configuration changes. */
function openOutside(config: Watched<NotifyConfig>, { clock, logger }: { clock: Clock; logger: Logger }) {
  const open = ({ push, mail }: NotifyConfig) => ({
    adapters: loadPushAdapters(push, { clock, logger }),
    mailer: mailerOf(mail, logger),
  });
  const close = async ({ adapters, mailer }: ReturnType<typeof open>): Promise<void> => {
    await Promise.all(Object.values(adapters).map((adapter) => adapter?.close()));
    mailer?.close();
  };
  let opened = open(config.current());
  config.onChange((changed) => {
    const before = opened;
    opened = open(changed);
    setTimeout(() => void close(before), REPLACED_MS).unref();
  });
  return {
    adapters: {
      get apns() {
        return opened.adapters.apns;
      },
      get fcm() {
        return opened.adapters.fcm;
      },
    },
    // Whether there is one is a setting, which does not change.
    mailer: opened.mailer && { send: (mail: Mail) => opened.mailer!.send(mail) },
    closeOutside: () => close(opened),
  };
}

function mailerOf(config: NotifyConfig["mail"], logger: Logger): Mailer | undefined {
  if (config === undefined) return undefined;
  const mailer = config === "log" ? createLogMailer(logger) : createSmtpMailer({ ...config, logger });
  return asOutsidePort("mail", mailer, { close: false });
}

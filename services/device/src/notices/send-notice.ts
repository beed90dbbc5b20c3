import { type Clock, DAY_MS, HOUR_MS, type Logger, NIL_UUID } from "@countersign/core";
import type { DeviceStore } from "../domain/devices/device-store.ts";
import type { Deliveries, pushDevices } from "../push/push-devices.ts";
import { accountLanguage, type Language } from "./language.ts";
import { noticeText } from "./notice-text.ts";
import type { DeliveryStore, FindEmail, Mailer, NoticeKind } from "./ports.ts";

interface DeliverNoticeOptions {
  devices: Pick<DeviceStore, "listLive">;
  deliveries: Deliveries;
  push: ReturnType<typeof pushDevices>;
  /** undefined: mail is off. */
  mailer: Pick<Mailer, "send"> | undefined;
  findEmail: FindEmail;
  clock: Clock;
}

interface SendNoticeOptions extends DeliverNoticeOptions {
  deliveries: Deliveries & Pick<DeliveryStore, "begin">;
  /** Notices of one kind per account and day: repeated sign-ins must not fill a mailbox. */
  maxPerDay: number;
  logger: Logger;
}

export interface Notice {
  eventId: string;
  accountId: string;
  kind: NoticeKind;
  occurredAt: Date;
}

/**
 * Delivers a notice to an account's devices and its e-mail address, to each once per event. Rejects where one
 * could not be reached yet.
 */
function deliverNotice({ devices, deliveries, push, mailer, findEmail, clock }: DeliverNoticeOptions) {
  const mail = async ({ eventId, accountId, kind, occurredAt }: Notice, language: Language): Promise<void> => {
    if (mailer === undefined || (await deliveries.has({ eventId, target: "email", accountId }))) return;
    const to = await findEmail(accountId);
    if (to !== "") await mailer.send({ to, id: eventId, ...noticeText(kind, occurredAt, language) });
    await deliveries.note({ eventId, target: "email", accountId, kind, at: clock.now() });
  };

  return async (notice: Notice): Promise<void> => {
    const { eventId, accountId, kind, occurredAt } = notice;
    const live = await devices.listLive(accountId);
    const pushed = push(live, {
      eventId,
      accountId,
      kind: `notice.${kind}`,
      twoFactorId: "",
      collapseKey: `notice.${kind}`,
      expiresAt: new Date(occurredAt.getTime() + DAY_MS),
      visibleTo: () => true,
    });
    // Neither waits for the other: a push service that is away must not hold the mail back.
    const results = await Promise.allSettled([pushed, mail(notice, accountLanguage(live))]);
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  };
}

/**
 * Sends the notice of an event; over the limit of its kind it is held instead. Rejects where a device or the
 * address could not be reached yet: the event is delivered again, for those only.
 */
export function sendNotice(options: SendNoticeOptions) {
  const { deliveries, maxPerDay, clock, logger } = options;
  const deliver = deliverNotice(options);
  return async (notice: Notice): Promise<void> => {
    const { eventId, accountId, kind } = notice;
    const now = clock.now();
    const since = new Date(now.getTime() - DAY_MS);
    if (await deliveries.begin({ eventId, accountId, kind, at: now, since, limit: maxPerDay })) return deliver(notice);
    logger.warn({ accountId, event: kind, limit: maxPerDay }, "notice held: daily limit of its kind reached");
  };
}

/**
 * Sends what was held for an hour: a thief who uses up a day's notices of a kind, by asking and cancelling,
 * would do unnoticed what the person believes cancelled. Each call goes on after the last one's, so that some
 * which fail again and again do not hold up others. Crash: it is sent again, as where two replicas look at
 * the same moment.
 */
export function sendHeldNotices(
  options: DeliverNoticeOptions & { deliveries: Pick<DeliveryStore, "held" | "noteHeld">; logger: Logger },
) {
  const { deliveries, clock, logger } = options;
  const deliver = deliverNotice(options);
  let last = NIL_UUID;
  return async (): Promise<void> => {
    const notices = await deliveries.held(new Date(clock.now().getTime() - HOUR_MS), last);
    last = notices.at(-1)?.eventId ?? NIL_UUID;
    for (const { at, kind, ...held } of notices) {
      try {
        await deliver({ ...held, kind: kind as NoticeKind, occurredAt: at });
        await deliveries.noteHeld(held);
      } catch (err) {
        logger.warn({ err, accountId: held.accountId, event: kind }, "held notice not sent; will retry");
      }
    }
  };
}

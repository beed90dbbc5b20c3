import type { Clock, Logger } from "@countersign/core";
import type { Device } from "../domain/devices/device.ts";
import { APNS_TOKEN } from "./apns-adapter.ts";
import { type PushAdapter, type PushMessage, PushRefused } from "./push-adapter.ts";

/** The configured adapters; a kind that is not configured is not pushed. */
export interface PushAdapters {
  readonly apns?: PushAdapter | undefined;
  readonly fcm?: PushAdapter | undefined;
}

/** An event of an account that was delivered to a target: a device or its e-mail address. */
export interface Delivery {
  readonly eventId: string;
  readonly target: string;
  readonly accountId: string;
  readonly kind: string;
  readonly at: Date;
}

/** Deliveries that were made, so that an event that is delivered again is not pushed twice. */
export interface Deliveries {
  /** Returns whether the event was delivered to this target. */
  has(delivery: Pick<Delivery, "eventId" | "target" | "accountId">): Promise<boolean>;
  note(delivery: Delivery): Promise<void>;
}

export interface PushTokens {
  /** Clears a device's token where it is still this one. */
  clearPushToken(deviceId: string, pushToken: string): Promise<void>;
}

interface PushDevicesOptions {
  adapters: PushAdapters;
  tokens: PushTokens;
  deliveries: Deliveries;
  clock: Clock;
  logger: Logger;
}

export interface Push extends Omit<PushMessage, "pushToken" | "visible"> {
  eventId: string;
  accountId: string;
  /** Whether the device shows the push; otherwise it only wakes the app. */
  visibleTo(device: Device): boolean;
}

/** Chooses by the token's form: 64 and more hex digits are Apple's, any other is Firebase's. */
export function adapterFor({ apns, fcm }: PushAdapters, pushToken: string): PushAdapter | undefined {
  if (pushToken === "") return undefined;
  return APNS_TOKEN.test(pushToken) ? apns : fcm;
}

/**
 * Pushes one event to devices concurrently, to each at most once as far as is known. Rejects where a device
 * could not be reached yet: the event is delivered again, for that one only.
 */
export function pushDevices({ adapters, tokens, deliveries, clock, logger }: PushDevicesOptions) {
  const one = async (device: Device, push: Push): Promise<void> => {
    const { eventId, accountId, visibleTo, ...message } = push;
    const { pushToken } = device.attributes;
    const adapter = adapterFor(adapters, pushToken);
    const target = `push:${device.id}`;
    if (adapter === undefined || (await deliveries.has({ eventId, target, accountId }))) return;
    try {
      const result = await adapter.send({ ...message, pushToken, visible: visibleTo(device) });
      if (result === "rejected") {
        await tokens.clearPushToken(device.id, pushToken);
        logger.info({ deviceId: device.id, accountId }, "push token rejected and cleared");
      }
    } catch (err) {
      if (!(err instanceof PushRefused)) throw err;
      logger.error({ err, deviceId: device.id, event: push.kind }, "push refused");
    }
    await deliveries.note({ eventId, target, accountId, kind: push.kind, at: clock.now() });
  };

  return async (devices: readonly Device[], push: Push): Promise<void> => {
    if (push.expiresAt <= clock.now()) return;
    const results = await Promise.allSettled(devices.map((device) => one(device, push)));
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  };
}

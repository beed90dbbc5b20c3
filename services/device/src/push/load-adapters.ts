import { asOutsidePort, type Clock, type Logger } from "@countersign/core";
import { readSecretFile } from "@countersign/runtime";
import { createApnsAdapter } from "./apns-adapter.ts";
import { providerToken } from "./apns-provider-token.ts";
import { createFcmAdapter } from "./fcm-adapter.ts";
import { googleAccessToken } from "./google-access-token.ts";
import { createLogAdapter } from "./log-adapter.ts";
import type { PushAdapter } from "./push-adapter.ts";
import type { PushAdapters } from "./push-devices.ts";
import { withRetries } from "./with-retries.ts";

export interface PushConfig {
  /** Whether what is not configured is logged instead of left out. */
  log: boolean;
  /** A service account's JSON file. */
  fcmCredentialsFile?: string | undefined;
  apns?: { keyFile: string; keyId: string; teamId: string; topic: string; url: string } | undefined;
}

/**
 * Returns the adapters that the configuration asks for. Errors: ConfigError for files that cannot be read.
 */
export function loadPushAdapters(
  config: PushConfig,
  { clock, logger }: { clock: Clock; logger: Logger },
): PushAdapters {
  const open = (adapter: PushAdapter) => asOutsidePort("push", adapter, { close: false });
  const instead = config.log ? open(createLogAdapter(logger)) : undefined;
  const { fcmCredentialsFile, apns } = config;
  return {
    fcm:
      fcmCredentialsFile === undefined
        ? instead
        : open(withRetries(createFcmAdapter({ ...googleAccessToken(fcmCredentialsFile), clock }), { clock })),
    apns: apns === undefined ? instead : open(withRetries(apnsAdapter(apns, clock), { clock })),
  };
}

function apnsAdapter({ keyFile, keyId, teamId, topic, url }: NonNullable<PushConfig["apns"]>, clock: Clock) {
  const token = providerToken({ privateKeyPem: readSecretFile(keyFile), keyId, teamId }, clock);
  return createApnsAdapter({ token, topic, clock, baseUrl: url });
}

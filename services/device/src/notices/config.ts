import { ConfigError, type Files, type ReadFile, readSecretFile } from "@countersign/runtime";
import { z } from "zod";
import type { PushConfig } from "../push/load-adapters.ts";

const otherwise = z.enum(["log", "off"]).default("off");
const appleId = z.string().regex(/^[A-Z0-9]{10}$/);

/** The variables of pushes and mails. */
export const notifyEnv = {
  // A push whose service is not configured is written to the log or dropped.
  DEVICE_PUSH: otherwise,
  DEVICE_FCM_CREDENTIALS_FILE: z.string().optional(),
  DEVICE_APNS_KEY_FILE: z.string().optional(),
  DEVICE_APNS_KEY_ID: appleId.optional(),
  DEVICE_APNS_TEAM_ID: appleId.optional(),
  DEVICE_APNS_TOPIC: z.string().optional(),
  DEVICE_APNS_URL: z.url({ protocol: /^https$/ }).default("https://api.push.apple.com"),
  // A mail is written to the log or dropped where no server is configured.
  DEVICE_MAIL: otherwise,
  DEVICE_SMTP_URL_FILE: z.string().optional(),
  DEVICE_MAIL_FROM: z.email().optional(),
};

type NotifySettings = z.output<z.ZodObject<typeof notifyEnv>>;

export interface NotifyConfig {
  push: PushConfig;
  /** "log": for development. */
  mail: { url: string; from: string } | "log" | undefined;
}

const smtpUrl = /^smtps?:\/\/\S+$/;

/**
 * Returns the settings of notices. Errors: ConfigError for incomplete groups of settings and for files that
 * cannot be read.
 */
export function notifyConfig(settings: NotifySettings, read?: ReadFile): NotifyConfig {
  const { DEVICE_APNS_KEY_FILE: keyFile, DEVICE_APNS_KEY_ID: keyId, DEVICE_APNS_TEAM_ID: teamId } = settings;
  const { DEVICE_APNS_TOPIC: topic, DEVICE_APNS_URL: url } = settings;
  const apns = keyFile && keyId && teamId && topic ? { keyFile, keyId, teamId, topic, url } : undefined;
  if (apns === undefined && (keyFile || keyId || teamId || topic)) {
    throw new ConfigError(["DEVICE_APNS_KEY_FILE, _KEY_ID, _TEAM_ID and _TOPIC: are needed together"]);
  }
  return {
    push: { log: settings.DEVICE_PUSH === "log", fcmCredentialsFile: settings.DEVICE_FCM_CREDENTIALS_FILE, apns },
    mail: mailOf(settings, read),
  };
}

function mailOf({ DEVICE_SMTP_URL_FILE: file, DEVICE_MAIL_FROM: from, DEVICE_MAIL }: NotifySettings, read?: ReadFile) {
  if (file === undefined) return DEVICE_MAIL === "log" ? ("log" as const) : undefined;
  if (from === undefined) throw new ConfigError(["DEVICE_MAIL_FROM: is missing"]);
  const url = readSecretFile(file, read);
  if (!smtpUrl.test(url) || !URL.canParse(url))
    throw new ConfigError([`secret file ${file}: is not an smtp:// or smtps:// URL`]);
  return { url, from };
}

/** Reads the settings, and again when one of the files that they name changes. Errors: ConfigError. */
export const watchNotifyConfig = (files: Pick<Files, "watch">, settings: NotifySettings) =>
  files.watch("push-and-mail", (read) => {
    // The adapters read these two.
    for (const file of [settings.DEVICE_FCM_CREDENTIALS_FILE, settings.DEVICE_APNS_KEY_FILE])
      if (file !== undefined) readSecretFile(file, read);
    return notifyConfig(settings, read);
  });

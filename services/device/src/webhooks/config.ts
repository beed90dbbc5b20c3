import { ConfigError, type Files, type ReadFile, readJsonFile, readSecretFile } from "@countersign/runtime";
import { z } from "zod";
import { WEBHOOK_TYPES, type WebhookType } from "./message.ts";

const MAX_ENDPOINTS = 100;

const endpoint = z.strictObject({
  /** Names it in metrics, logs and commands. */
  id: z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/),
  /** Its app: it receives the events of that app's accounts only. */
  appId: z.string().regex(/^[\w.-]{1,128}$/),
  url: z.url({ protocol: /^https?$/ }).refine((text) => {
    const { username, password, hash } = new URL(text);
    return username === "" && password === "" && hash === "";
  }, "must have neither a user, a password nor a fragment"),
  /** The secret, and while it is replaced the other one as well: each signs every message. */
  secretFiles: z.array(z.string().min(1)).min(1).max(2),
  /** The types that it receives; by default all. */
  types: z.array(z.enum(WEBHOOK_TYPES)).min(1).optional(),
});

const file = z
  .strictObject({ endpoints: z.array(endpoint).max(MAX_ENDPOINTS) })
  .refine(({ endpoints }) => new Set(endpoints.map(({ id }) => id)).size === endpoints.length, {
    path: ["endpoints"],
    message: "an id is there twice",
  });

/** Where the events of an app's accounts are sent. */
export interface WebhookEndpoint {
  readonly id: string;
  readonly appId: string;
  readonly url: string;
  /** As in Standard Webhooks: `whsec_` and base64. */
  readonly secrets: readonly string[];
  readonly types: readonly WebhookType[];
}

/** 24 to 64 bytes, as Standard Webhooks asks. */
function isSecret(secret: string): boolean {
  const bytes = Buffer.from(secret.slice("whsec_".length), "base64");
  return /^whsec_[A-Za-z0-9+/]+={0,2}$/.test(secret) && bytes.length >= 24 && bytes.length <= 64;
}

function secretIn(path: string, read: ReadFile): string {
  const secret = readSecretFile(path, read).trim();
  if (!isSecret(secret)) throw new ConfigError([`secret file ${path}: is not whsec_ and base64 of 24 to 64 bytes`]);
  return secret;
}

const loadWebhooks = (path: string, read: ReadFile): WebhookEndpoint[] =>
  readJsonFile(path, file, read).endpoints.map(({ secretFiles, types = WEBHOOK_TYPES, ...rest }) => ({
    ...rest,
    types,
    secrets: secretFiles.map((each) => secretIn(each, read)),
  }));

/** Loads the endpoints, and again when the file or a secret's file changes; none without a file. */
export const watchWebhooks = (files: Pick<Files, "watch">, path: string | undefined) =>
  files.watch("webhooks", (read) => (path === undefined ? [] : loadWebhooks(path, read)));

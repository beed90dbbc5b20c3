import type { Session } from "@countersign/proto/auth/v1/sessions.ts";
import { z } from "zod";
import { toHex, toTimestamp } from "../../http/validation.ts";
import { appSchema, toApp } from "./device.ts";

export const sessionSchema = z.object({
  id: z.string(),
  app: appSchema,
  /** The identity key of the device that signed in. */
  publicKey: z.string(),
  createdAt: z.string(),
  lastUsedAt: z.string(),
  expiresAt: z.string(),
  current: z.boolean(),
});

/** A session as clients see it. */
export function toSession(session: Session): z.infer<typeof sessionSchema> {
  return {
    id: session.id,
    app: toApp(session.app),
    publicKey: toHex(session.deviceKey?.bytes),
    createdAt: toTimestamp(session.createdAt),
    lastUsedAt: toTimestamp(session.lastUsedAt),
    expiresAt: toTimestamp(session.expiresAt),
    current: session.current,
  };
}

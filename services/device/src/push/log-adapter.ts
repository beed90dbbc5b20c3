import { hash } from "node:crypto";
import type { Logger } from "@countersign/core";
import type { PushAdapter } from "./push-adapter.ts";

/** Logs pushes, for development: a line per message, with a fingerprint in place of the token. */
export function createLogAdapter(logger: Logger): PushAdapter {
  return {
    async send({ pushToken, kind, twoFactorId }) {
      logger.info({ event: kind, twoFactorId, to: hash("sha256", pushToken).slice(0, 12) }, "push");
      return "sent";
    },
    close: async () => undefined,
  };
}

import { createHash } from "node:crypto";
import type { Logger } from "@countersign/core";
import type { PushAdapter } from "./push-adapter.ts";

/** Logs pushes, for development: a line per message, with a fingerprint in place of the token. */
export function createLogAdapter(logger: Logger): PushAdapter {
  return {
    async send({ pushToken, kind, twoFactorId }) {
      const device = createHash("sha256").update(pushToken).digest("hex").slice(0, 12);
      logger.info({ event: kind, twoFactorId, to: device }, "push");
      return "sent";
    },
    close: async () => undefined,
  };
}

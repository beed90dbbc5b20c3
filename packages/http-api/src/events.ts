import { z } from "zod";
import {
  Algorithm,
  ChainName,
  described,
  OptionalTimestamp,
  open,
  openEnum,
  PublicKeyHex,
  resource,
  Timestamp,
  Uuid,
} from "./formats.ts";

/*
 * The events of GET /device/v1/events by their names, with the `data` of each. The client takes its types
 * from here, the gateway its OpenAPI and AsyncAPI documents; tests compare what the services emit. Clients
 * ignore unknown events and members.
 */

const occurredAt = Timestamp.meta({ description: "The time of the change." });

const named = <T extends z.ZodRawShape>(id: string, description: string, shape: T) =>
  resource(id, description, { occurredAt, ...shape });

const twoFactor = named("TwoFactorEvent", "A request to enroll a device has changed.", {
  id: Uuid.meta({ description: "`TwoFactorAuth.id`; `getTwoFactor` reads it." }),
});
const key = named("KeyEvent", "A key of the account has changed; a discovered one is unregistered.", {
  publicKey: PublicKeyHex.meta({ description: "The key on chain." }),
  algorithm: open(Algorithm),
  chainName: ChainName,
  keyIndex: z.int32().meta({ description: "The key's index on chain.", examples: [1] }),
});
const chainAlert = named("ChainAlertEvent", "A change on chain that no transaction of the service caused.", {
  id: described("The alert's id.", "019a0000-0000-7000-8000-000000000001"),
  chainName: ChainName,
  transactionId: described("The transaction.", "21c86909067d90562602828986c922f0320d5db9e6b091879be09d2de609658a"),
  type: described("The type of the chain's event.", "flow.AccountKeyAdded"),
  frozen: z.boolean().meta({ description: "Whether the account was frozen for it.", examples: [false] }),
});
const timeLock = {
  // A UUID where the signer started it; auth has ids of another form.
  id: described("The time lock's id.", "019a0000-0000-7000-8000-000000000001"),
  operation: described("The template of the change, or `unfreeze`.", "add-recovery-key"),
};
const timeLockStarted = named("TimeLockStartedEvent", "A change of keys, or the lifting of a freeze, waits.", {
  ...timeLock,
  availableAt: OptionalTimestamp.meta({ description: "The end of the time lock." }),
});
const timeLockCancelled = named("TimeLockCancelledEvent", "A device has cancelled a time lock.", timeLock);
const device = named("DeviceEvent", "A device of the account has changed.", {
  deviceId: Uuid.meta({ description: "The device's id." }),
  change: openEnum(["registered", "changed", "removed"], "The change."),
});
const account = named("AccountUpdatedEvent", "The account has changed.", {
  accountId: Uuid.meta({ description: "The account's id." }),
  change: openEnum(["deployed", "changed", "frozen", "unfrozen", "left"], "The change."),
});

const session = named("SessionEndedEvent", "A session of the account has ended.", {
  sessionId: Uuid.meta({ description: "The session's id." }),
  cause: openEnum(
    [
      "signed-out",
      "ended-by-user",
      "replaced",
      "refresh-token-reused",
      "device-removed",
      "key-revoked",
      "account-left",
      "administrator",
      "expired",
    ],
    "The cause.",
  ),
});
const reset = resource("StreamResetEvent", "Events may be missing: read again everything that is shown.", {
  occurredAt: occurredAt.optional(),
});

export const ACCOUNT_EVENTS = {
  "two-factor.requested": twoFactor,
  "two-factor.approved": twoFactor,
  "two-factor.rejected": twoFactor,
  "two-factor.expired": twoFactor,
  "two-factor.finished": twoFactor,
  "two-factor.failed": twoFactor,
  "key.added": key,
  "key.revoked": key,
  "key.discovered": key,
  "chain.alert": chainAlert,
  "time-lock.started": timeLockStarted,
  "time-lock.cancelled": timeLockCancelled,
  "device.updated": device,
  "account.updated": account,
  "session.ended": session,
  "stream.reset": reset,
} as const satisfies Record<string, z.ZodType>;

/** The `data` of each event, by its name. */
export type AccountEventData = { [Name in keyof typeof ACCOUNT_EVENTS]: z.infer<(typeof ACCOUNT_EVENTS)[Name]> };

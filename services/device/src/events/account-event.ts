import { NIL_UUID } from "@countersign/core";
import type { Event, KeyDiscovered, KeyRegistered, KeyRevoked } from "@countersign/proto/events/v1/events.ts";
import { publicKeyFromProto } from "@countersign/rpc";

/** One event, as the account's devices receive it. */
export interface AccountEvent {
  /** The stream's sequence number. */
  sequence: number;
  /** "two-factor.requested", "key.added" and so on. */
  type: string;
  /** Ids and states only: devices read the resources with their own token. */
  data: Readonly<Record<string, string | number | boolean>>;
  occurredAt: Date;
}

type Seen = Pick<AccountEvent, "type" | "data">;

const keyOf = (key: KeyRegistered | KeyRevoked | KeyDiscovered) => {
  const { algorithm, publicKey } = publicKeyFromProto(key.accountKey);
  return { publicKey, algorithm, chainName: key.chainName, keyIndex: key.keyIndex };
};
const updatedDevice = (deviceId: string, change: string): Seen => ({
  type: "device.updated",
  data: { deviceId, change },
});
const updatedAccount = (accountId: string, change: string): Seen => ({
  type: "account.updated",
  data: { accountId, change },
});

// A renewed or redirected request is requested again.
const TWO_FACTOR: ReadonlyMap<string, string> = new Map([
  ["pending", "requested"],
  ...["approved", "rejected", "expired", "finished", "failed"].map((state) => [state, state] as const),
]);

const timeLockStarted = ({ timeLockStarted: started }: Event): Seen | undefined =>
  started && {
    type: "time-lock.started",
    data: { id: started.id, operation: started.operation, availableAt: started.availableAt?.toISOString() ?? "" },
  };
const timeLockCancelled = ({ timeLockCancelled: cancelled }: Event): Seen | undefined =>
  cancelled && { type: "time-lock.cancelled", data: { id: cancelled.id, operation: cancelled.operation } };

// By service and name, as the subject has them: NATS lets each service publish its own only.
const MAPPINGS: Readonly<Record<string, (event: Event) => Seen | undefined>> = {
  // The end of the session that the new one replaced has no event of its own.
  "auth.session-created": ({ sessionCreated }) => {
    const { replacedSessionId: sessionId = "" } = sessionCreated ?? {};
    return sessionId === "" || sessionId === NIL_UUID
      ? undefined
      : { type: "session.ended", data: { sessionId, cause: "replaced" } };
  },
  "auth.session-ended": ({ sessionEnded }) =>
    sessionEnded && {
      type: "session.ended",
      data: { sessionId: sessionEnded.sessionId, cause: sessionEnded.cause },
    },
  "auth.account-frozen": ({ accountId, accountFrozen }) => accountFrozen && updatedAccount(accountId, "frozen"),
  "auth.account-unfrozen": ({ accountId, accountFrozen }) => accountFrozen && updatedAccount(accountId, "unfrozen"),
  "account.account-deployed": ({ accountId, accountDeployed }) =>
    accountDeployed && updatedAccount(accountId, "deployed"),
  "account.account-updated": ({ accountId, accountUpdated }) => accountUpdated && updatedAccount(accountId, "changed"),
  "account.chain-alert": ({ id, chainAlert }) => {
    if (chainAlert === undefined) return undefined;
    const { chainName, transactionId, eventType: type, freezes: frozen } = chainAlert;
    return { type: "chain.alert", data: { id, chainName, transactionId, type, frozen } };
  },
  "key.key-registered": ({ keyRegistered }) => keyRegistered && { type: "key.added", data: keyOf(keyRegistered) },
  "key.key-revoked": ({ keyRevoked }) => keyRevoked && { type: "key.revoked", data: keyOf(keyRevoked) },
  "key.key-discovered": ({ keyDiscovered }) => keyDiscovered && { type: "key.discovered", data: keyOf(keyDiscovered) },
  "key.account-left": ({ accountId, accountLeft }) => accountLeft && updatedAccount(accountId, "left"),
  "signer.time-lock-started": timeLockStarted,
  "auth.time-lock-started": timeLockStarted,
  "signer.time-lock-cancelled": timeLockCancelled,
  "auth.time-lock-cancelled": timeLockCancelled,
  "device.device-registered": ({ deviceRegistered }) =>
    deviceRegistered && updatedDevice(deviceRegistered.deviceId, "registered"),
  "device.device-updated": ({ deviceUpdated }) => deviceUpdated && updatedDevice(deviceUpdated.deviceId, "changed"),
  "device.device-removed": ({ deviceRemoved }) => deviceRemoved && updatedDevice(deviceRemoved.deviceId, "removed"),
  "device.two-factor-changed": ({ twoFactorChanged }) => {
    const state = TWO_FACTOR.get(twoFactorChanged?.status ?? "");
    if (twoFactorChanged === undefined || state === undefined) return undefined;
    return { type: `two-factor.${state}`, data: { id: twoFactorChanged.id } };
  },
};

const SUBJECT = /^cs\.v1\.([a-z0-9-]+)\.([a-z0-9-]+)\.([a-z0-9-]+)$/;

/** Returns the parts of a subject cs.v1.<service>.<account id>.<event>; undefined for any other. */
export function subjectParts(subject: string): { accountId: string; name: string } | undefined {
  const [, service, accountId, event] = SUBJECT.exec(subject) ?? [];
  return accountId === undefined ? undefined : { accountId, name: `${service}.${event}` };
}

/**
 * Returns the event as the devices of the account receive it; undefined where they do not, or it is
 * incomplete.
 */
export function toAccountEvent(sequence: number, subject: string, event: Event): AccountEvent | undefined {
  const parts = subjectParts(subject);
  if (parts === undefined || event.occurredAt === undefined || event.accountId !== parts.accountId) return undefined;
  try {
    const seen = MAPPINGS[parts.name]?.(event);
    return seen && { ...seen, sequence, occurredAt: event.occurredAt };
  } catch {
    // A key of an unknown algorithm, perhaps of a later version.
    return undefined;
  }
}

/** Returns the JSON that clients receive as `data`. */
export function accountEventJson({ data, occurredAt }: AccountEvent): string {
  return JSON.stringify({ ...data, occurredAt: occurredAt.toISOString() });
}

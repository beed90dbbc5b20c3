export interface DurableSettings {
  /** Subjects of the events that it is given. */
  readonly filter: readonly string[];
  /** Deliveries before an event is given up, loudly. Default 30, about two hours. */
  readonly maxDeliver?: number;
  /** After this time what a process that died had in hand is delivered again, in milliseconds. Default 30,000. */
  readonly ackWaitMs?: number;
}

/**
 * Durable consumers, by the service that they belong to. The operator's set-up makes them, and NATS lets each service fetch from its own and acknowledge to them, and at
 * nothing else: whoever could change another service's would take freezes and revocations out of its hands.
 */
export const DURABLES = {
  auth: {
    // One delivery in five minutes is a week, for which the stream keeps it: an alert is never given up.
    // And soon another one's when who had it died: until then the account signs for the thief.
    "auth-chain-alerts": { filter: ["cs.v1.account.*.chain-alert"], maxDeliver: 2_100, ackWaitMs: 5_000 },
    "auth-device-removed": { filter: ["cs.v1.device.*.device-removed"] },
    "auth-key-events": { filter: ["cs.v1.key.*.key-revoked", "cs.v1.key.*.account-left"] },
    // With five minutes between the last ones about a day: a frozen account is not let in, and may be thawed.
    "auth-two-factor-changed": { filter: ["cs.v1.device.*.two-factor-changed"], maxDeliver: 300 },
  },
  device: {
    "device-key-revoked": { filter: ["cs.v1.key.*.key-revoked"] },
    "device-notices": {
      filter: [
        "cs.v1.auth.*.session-created",
        "cs.v1.auth.*.account-frozen",
        "cs.v1.auth.*.account-unfrozen",
        "cs.v1.auth.*.time-lock-started",
        "cs.v1.auth.*.time-lock-cancelled",
        "cs.v1.account.*.chain-alert",
        "cs.v1.device.*.device-registered",
        "cs.v1.key.*.key-discovered",
        "cs.v1.key.*.account-left",
        "cs.v1.signer.*.time-lock-started",
        "cs.v1.signer.*.time-lock-cancelled",
      ],
    },
    "device-push": { filter: ["cs.v1.device.*.two-factor-changed"] },
    "device-session-created": { filter: ["cs.v1.auth.*.session-created"] },
  },
  key: {
    "key-account-keys-changed": { filter: ["cs.v1.account.*.account-keys-changed"] },
    "key-session-created": { filter: ["cs.v1.auth.*.session-created"] },
  },
  account: {
    // What a process that died was voiding is another one's soon: a thief may be faster.
    "account-account-frozen": { filter: ["cs.v1.auth.*.account-frozen"], ackWaitMs: 5_000 },
  },
  signer: {},
} as const satisfies Record<string, Record<string, DurableSettings>>;

type Tables = typeof DURABLES;
export type Durable = { [Service in keyof Tables]: keyof Tables[Service] }[keyof Tables];

const tables: readonly Record<string, DurableSettings>[] = Object.values(DURABLES);

/** All of them with their settings. */
export const DURABLE_SETTINGS: ReadonlyMap<string, DurableSettings> = new Map(tables.flatMap(Object.entries));

/** What stands for $JS.API with a service, whose account at NATS has no JetStream of its own: what it may ask for is let in from the events' account. */
export const API_PREFIX = "cs.api";

/** Below this NATS publishes again whatever the stream has stored, with its place in the stream. */
export const FED_SUBJECTS = "cs.feed.>";

export interface DurableSettings {
  /** Subjects of the events that it receives. */
  readonly filter: readonly string[];
  /** Deliveries before an event is dropped, with an error in the log. Default 30, about two hours. */
  readonly maxDeliver?: number;
  /**
   * Milliseconds after which the unacknowledged events of a dead process are delivered again. Default 30,000.
   */
  readonly ackWaitMs?: number;
}

/**
 * Durable consumers, by the service that they belong to. The operator's set-up creates them, and NATS lets
 * each service fetch from and acknowledge to its own consumers only: a service that could change another
 * one's could suppress its freezes and revocations.
 *
 * A further subject gets a new consumer: the set-up runs after the roll-out, and an existing one would pass
 * the events from before (docs/upgrades.md).
 */
export const DURABLES = {
  auth: {
    // One delivery in five minutes lasts a week, as long as the stream keeps the event: an alert is never
    // dropped. After a process died another one gets its alerts soon: until then, the account signs for the
    // thief.
    "auth-chain-alerts": { filter: ["cs.v1.account.*.chain-alert"], maxDeliver: 2_100, ackWaitMs: 5_000 },
    // These two until they have succeeded: sessions of a removed device or of a revoked key would stay.
    "auth-device-removed": { filter: ["cs.v1.device.*.device-removed"], maxDeliver: 2_100 },
    "auth-key-events": { filter: ["cs.v1.key.*.key-revoked", "cs.v1.key.*.account-left"], maxDeliver: 2_100 },
    // With five minutes between the last ones about a day: a frozen account enrolls no device, and may be
    // unfrozen.
    "auth-two-factor-changed": { filter: ["cs.v1.device.*.two-factor-changed"], maxDeliver: 300 },
  },
  device: {
    // Until it has succeeded: a device without a key would stay in the list.
    "device-key-revoked": { filter: ["cs.v1.key.*.key-revoked"], maxDeliver: 2_100 },
    "device-notices": {
      // About a day, as a notice's push: an owner may still cancel a time lock then.
      maxDeliver: 300,
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
    // Until it has succeeded: nobody erases a second time by themselves.
    "device-person-erased": { filter: ["cs.v1.auth.*.person-erased"], maxDeliver: 2_100 },
    // Until it has succeeded: an event that is dropped would never reach the app's backend.
    "device-webhooks": {
      filter: [
        "cs.v1.auth.*.sign-up-completed",
        "cs.v1.auth.*.session-created",
        "cs.v1.auth.*.session-ended",
        "cs.v1.auth.*.account-frozen",
        "cs.v1.auth.*.account-unfrozen",
        "cs.v1.auth.*.time-lock-started",
        "cs.v1.auth.*.time-lock-cancelled",
        "cs.v1.auth.*.person-erased",
        "cs.v1.account.*.account-deployed",
        "cs.v1.account.*.account-updated",
        "cs.v1.account.*.chain-alert",
        "cs.v1.key.*.key-registered",
        "cs.v1.key.*.key-revoked",
        "cs.v1.key.*.key-discovered",
        "cs.v1.key.*.account-left",
        "cs.v1.signer.*.time-lock-started",
        "cs.v1.signer.*.time-lock-cancelled",
        "cs.v1.device.*.device-registered",
        "cs.v1.device.*.device-updated",
        "cs.v1.device.*.device-removed",
        "cs.v1.device.*.two-factor-changed",
      ],
      maxDeliver: 2_100,
    },
    "device-push": { filter: ["cs.v1.device.*.two-factor-changed"] },
  },
  key: {
    // Until it has succeeded: a key that the chain has revoked would sign in.
    "key-account-keys-changed": { filter: ["cs.v1.account.*.account-keys-changed"], maxDeliver: 2_100 },
    // Until it has succeeded: nobody erases a second time by themselves.
    "key-person-erased": { filter: ["cs.v1.auth.*.person-erased"], maxDeliver: 2_100 },
  },
  account: {
    // Another process soon continues the voiding of one that died: a thief may be faster otherwise. Until it
    // has succeeded: what was signed before stays valid on a chain that stands still.
    "account-account-frozen": { filter: ["cs.v1.auth.*.account-frozen"], maxDeliver: 2_100, ackWaitMs: 5_000 },
    // Until it has succeeded: nobody erases a second time by themselves.
    "account-person-erased": { filter: ["cs.v1.auth.*.person-erased"], maxDeliver: 2_100 },
  },
  signer: {},
} as const satisfies Record<string, Record<string, DurableSettings>>;

type Tables = typeof DURABLES;
export type Durable = { [Service in keyof Tables]: keyof Tables[Service] }[keyof Tables];

const tables: readonly Record<string, DurableSettings>[] = Object.values(DURABLES);

/** All durable consumers with their settings. */
export const DURABLE_SETTINGS: ReadonlyMap<string, Required<DurableSettings>> = new Map(
  tables.flatMap(Object.entries).map(([durable, own]) => [durable, { maxDeliver: 30, ackWaitMs: 30_000, ...own }]),
);

/**
 * Replaces $JS.API for a service, whose account at NATS has no JetStream of its own: its permitted requests
 * are imported from the events' account under this prefix.
 */
export const API_PREFIX = "cs.api";

/**
 * Durable consumers, by the service that they belong to. NATS' rights are made of this: whoever could fetch from, acknowledge or change another
 * service's would take freezes and revocations out of its hands.
 */
export const DURABLES = {
  auth: ["auth-chain-alerts", "auth-device-removed", "auth-key-events", "auth-two-factor-changed"],
  device: ["device-key-revoked", "device-notices", "device-push", "device-session-created"],
  key: ["key-account-keys-changed", "key-session-created"],
  account: ["account-account-frozen"],
  signer: [],
} as const;

export type Durable = (typeof DURABLES)[keyof typeof DURABLES][number];

/** The feed of all events that each process of the device service has. */
export const DEVICE_FEED = "device-feed";

const FEEDS = 32;

/** Names for the feeds' consumers, one for each process: rights know whole names and no prefixes. */
export const FEED_CONSUMERS: readonly string[] = Array.from({ length: FEEDS }, (_, n) => `${DEVICE_FEED}-${n + 1}`);

/** What the answers to a service's requests begin with: nobody else may listen to them. */
export function inboxPrefix(service: string): string {
  return `_INBOX.${service}`;
}

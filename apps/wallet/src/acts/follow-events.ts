import type { AccountEvent, CountersignClient } from "@countersign/client";

/** Reconnects by itself and goes on after the last event. In React: useAccountEvents(show). */
export async function followEvents(client: CountersignClient, show: (event: AccountEvent) => void) {
  for await (const event of client.events()) show(event);
}

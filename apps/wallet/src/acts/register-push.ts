import type { CountersignClient } from "@countersign/client";

/** The token of FCM or APNs; an empty one ends the pushes. The local service logs them instead. */
export const registerPush = (client: CountersignClient, pushToken: string) => client.updateDevice({ pushToken });

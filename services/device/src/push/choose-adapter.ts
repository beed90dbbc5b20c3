import { APNS_TOKEN } from "./apns-adapter.ts";
import type { PushAdapter } from "./push-adapter.ts";

/** The configured adapters; a kind that is not configured is not pushed. */
export interface PushAdapters {
  apns?: PushAdapter | undefined;
  fcm?: PushAdapter | undefined;
}

/** Chooses by the token's form: 64 and more hex digits are Apple's, any other is Firebase's. */
export function adapterFor({ apns, fcm }: PushAdapters, pushToken: string): PushAdapter | undefined {
  if (pushToken === "") return undefined;
  return APNS_TOKEN.test(pushToken) ? apns : fcm;
}

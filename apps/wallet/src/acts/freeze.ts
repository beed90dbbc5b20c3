import type { CountersignClient } from "@countersign/client";

/** From now on nothing is signed for the account, on any phone. */
export const freeze = (client: CountersignClient) => client.freeze();

/** By the phone that froze it: TimeLockRequired says from when on. */
export const unfreeze = (client: CountersignClient) => client.unfreeze();

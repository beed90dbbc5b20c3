import type { CountersignClient } from "@countersign/client";

/** The owner's veto: a phone that was on the account before the time lock started cancels it. */
export const cancelTimeLock = (client: CountersignClient, id: string) => client.cancelTimeLock(id);

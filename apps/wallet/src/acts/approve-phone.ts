import type { CountersignClient } from "@countersign/client";

/** Signs only if the message adds the key of the very phone that shows this code. */
export const approvePhone = (client: CountersignClient, requestId: string, typedCode: string) =>
  client.approveTwoFactor(requestId, { matchingCode: typedCode });

export const rejectPhone = (client: CountersignClient, requestId: string) => client.rejectTwoFactor(requestId);

import { defineFaultPoints } from "@countersign/core";

const published = ["published"] as const;

/** Every point of the publisher at which a fault test may kill the process. */
export const OUTBOX_FAULT_POINTS = {
  signUp: published,
  enrollmentBySignature: published,
  enrollmentByTransaction: published,
  chainChange: published,
  timeLock: published,
  freeze: published,
  chainAlert: published,
} as const;

export const faultPoint = defineFaultPoints("outbox", OUTBOX_FAULT_POINTS);

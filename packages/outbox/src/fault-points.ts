import { defineFaultPoints } from "@countersign/service-kit";

/** Every place of the publisher at which a fault test may kill. */
export const OUTBOX_FAULT_POINTS = ["published"] as const;

export const faultPoint = defineFaultPoints("outbox", OUTBOX_FAULT_POINTS);

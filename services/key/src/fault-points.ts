import { defineFaultPoints } from "@countersign/service-kit";

/** Every place of a registration at which a fault test may kill. */
export const KEY_FAULT_POINTS = ["before commit", "committed"] as const;

export const faultPoint = defineFaultPoints("key", KEY_FAULT_POINTS);

import { defineFaultPoints } from "@countersign/service-kit";

/** Every place of a sign-up at which a fault test may kill. */
export const GATEWAY_FAULT_POINTS = ["sign-up accepted", "before answer"] as const;

export const faultPoint = defineFaultPoints("gateway", GATEWAY_FAULT_POINTS);

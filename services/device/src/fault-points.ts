import { defineFaultPoints } from "@countersign/service-kit";

/** Every place of a registration at which a fault test may kill. */
export const DEVICE_FAULT_POINTS = ["before commit", "committed"] as const;

export const faultPoint = defineFaultPoints("device", DEVICE_FAULT_POINTS);

import { defineFaultPoints } from "@countersign/service-kit";

/** Every place of a signature or a binding at which a fault test may kill. */
export const SIGNER_FAULT_POINTS = ["signature made", "audit committed", "binding committed"] as const;

export const faultPoint = defineFaultPoints("signer", SIGNER_FAULT_POINTS);

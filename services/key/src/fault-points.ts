import { defineFaultPoints } from "@countersign/service-kit";

const registration = ["before commit", "committed"] as const;

/** The chain tells of a key too, sooner or later than whoever let it in. */
const letIn = [...registration, "change heard of", "change followed"] as const;

/** Every place of a registration at which a fault test may kill. */
export const KEY_FAULT_POINTS = {
  signUp: registration,
  letInBySignature: letIn,
  letInByTransaction: letIn,
} as const;

export const faultPoint = defineFaultPoints("key", KEY_FAULT_POINTS);

import { defineFaultPoints } from "@countersign/core";

const enrollment = [
  "new device accepted",
  "new device before answer",
  "approval accepted",
  "approval before answer",
  "finish accepted",
  "finish before answer",
] as const;

/** Every place at which a fault test may kill: when a request is understood, and when its answer is known. */
export const GATEWAY_FAULT_POINTS = {
  signUp: ["sign-up accepted", "before answer"],
  enrollmentBySignature: enrollment,
  enrollmentByTransaction: enrollment,
  chainChange: [],
  timeLock: [],
  freeze: [],
} as const;

export const faultPoint = defineFaultPoints("gateway", GATEWAY_FAULT_POINTS);

import { defineFaultPoints } from "@countersign/core";

const registration = ["before commit", "committed"] as const;
/** A request for approval from its opening to its end, without what approves it. */
const request = ["request committed", "approval committed", "finish committed", ...registration] as const;

/**
 * Every place of a registration, of a request for approval and of a device's end at which a fault test may
 * kill.
 */
export const DEVICE_FAULT_POINTS = {
  signUp: registration,
  enrollmentBySignature: [...request, "attempt committed", "attempt submitted", "outcome known", "seal committed"],
  enrollmentByTransaction: [...request, "transaction verified"],
  chainChange: ["revocation received", "revocation followed"],
  timeLock: [],
  freeze: [],
} as const;

export const faultPoint = defineFaultPoints("device", DEVICE_FAULT_POINTS);

import { defineFaultPoints, type FaultPoints } from "@countersign/core";

/** Before a step's call, and after it but before it is marked as done. */
const STEPS = ["DeployAccount", "RegisterKey", "RegisterDevice"] as const;
const aroundSteps = STEPS.flatMap((step) => [`before ${step}`, `after ${step}`] as const);

const enrollment = [
  "request begun",
  "request opened",
  "request received",
  "request taken note of",
  "enrollment begun",
  "key enrolled",
  "device enrolled",
  "enrollment committed",
  "request finished",
  "session opened",
] as const;

const revocation = ["revocation received", "revocation followed"] as const;

type SignUpPoint = "claimed" | `${"before" | "after"} ${(typeof STEPS)[number]}` | "done" | "session begun";

/**
 * Every place of auth's sign-up, and of its part in letting a device in and in shutting out a key that was
 * revoked, at which a fault test may kill.
 */
export const AUTH_FAULT_POINTS: FaultPoints<
  SignUpPoint | (typeof enrollment)[number] | (typeof revocation)[number] | "account held"
> = {
  signUp: ["claimed", ...aroundSteps, "done", "session begun"],
  enrollmentBySignature: enrollment,
  enrollmentByTransaction: enrollment,
  chainChange: revocation,
  timeLock: [],
  freeze: [],
  chainAlert: ["account held"],
};

export const faultPoint = defineFaultPoints("auth", AUTH_FAULT_POINTS);

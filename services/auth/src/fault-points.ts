import { defineFaultPoints } from "@countersign/service-kit";
import { SIGN_UP_STEPS, type SignUpStep } from "./domain/sign-up-steps.ts";

/** Before a step's call, and after it but before it is marked as done. */
const aroundSteps = SIGN_UP_STEPS.flatMap((step) => [`before ${step}`, `after ${step}`] as const);

/** Every place of auth's sign-up at which a fault test may kill. */
export const AUTH_FAULT_POINTS: readonly (
  | "claimed"
  | `${"before" | "after"} ${SignUpStep}`
  | "done"
  | "session begun"
)[] = ["claimed", ...aroundSteps, "done", "session begun"];

export const faultPoint = defineFaultPoints("auth", AUTH_FAULT_POINTS);

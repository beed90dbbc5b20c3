import { defineFaultPoints } from "@countersign/core";

const registration = ["before commit", "committed"] as const;

const change = ["change received", "change before commit", "change followed"] as const;

/** The chain's event of a new key comes before or after its registration. */
const enrollment = [...registration, ...change] as const;

/** Every place of a registration, and of following the chain, at which a fault test may kill. */
export const KEY_FAULT_POINTS = {
  signUp: registration,
  enrollmentBySignature: enrollment,
  enrollmentByTransaction: enrollment,
  chainChange: [...change, "unregistered keys before commit", "unregistered keys committed"],
  timeLock: [],
  freeze: [],
} as const;

export const faultPoint = defineFaultPoints("key", KEY_FAULT_POINTS);

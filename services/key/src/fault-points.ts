import { defineFaultPoints } from "@countersign/core";

const registration = ["before commit", "committed"] as const;

const change = ["change received", "change before commit", "change followed"] as const;

/** The chain tells of a key too, sooner or later than whoever let it in. */
const enrollment = [...registration, ...change] as const;

/** Every place of a registration, and of following the chain, at which a fault test may kill. */
export const KEY_FAULT_POINTS = {
  signUp: registration,
  enrollmentBySignature: enrollment,
  enrollmentByTransaction: enrollment,
  chainChange: [...change, "strangers before commit", "strangers told"],
  timeLock: [],
  freeze: [],
} as const;

export const faultPoint = defineFaultPoints("key", KEY_FAULT_POINTS);

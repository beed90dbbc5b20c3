import { defineFaultPoints } from "@countersign/core";

const signature = ["signature made", "audit committed"] as const;

/** Every place of a signature, a delay or a binding at which a fault test may kill. */
export const SIGNER_FAULT_POINTS = {
  signUp: [...signature, "binding committed"],
  enrollmentBySignature: signature,
  enrollmentByTransaction: signature,
  chainChange: [],
  timeLock: ["delay before commit", "delay started", "recovery key remembered", ...signature],
  freeze: signature,
  settlement: ["reservations settled"],
  rotateServerKey: ["rotation begun", ...signature, "binding rotated"],
} as const;

export const faultPoint = defineFaultPoints("signer", SIGNER_FAULT_POINTS);

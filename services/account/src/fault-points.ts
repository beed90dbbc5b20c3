import { defineFaultPoints } from "@countersign/service-kit";

/** Every place of a deployment or of a key's addition at which a fault test may kill, in the order in which they are reached. */
export const ACCOUNT_FAULT_POINTS = {
  signUp: [
    "deployment queued",
    "creation leased",
    "creation signed",
    "bytes committed",
    "submitted",
    "sealed",
    "address bound",
    "events committed",
    "deployment found",
  ],
  letInBySignature: [
    "addition prepared",
    "addition co-signed",
    "addition sponsored",
    "addition committed",
    "addition submitted",
    "addition decided",
    "addition settled",
    "change told",
  ],
  letInByTransaction: ["addition prepared", "addition verified", "change told"],
} as const;

export const faultPoint = defineFaultPoints("account", ACCOUNT_FAULT_POINTS);

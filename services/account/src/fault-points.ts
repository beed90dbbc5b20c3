import { defineFaultPoints } from "@countersign/service-kit";

/** Every place of a deployment at which a fault test may kill, in the order in which a sign-up reaches them. */
export const ACCOUNT_FAULT_POINTS = [
  "deployment queued",
  "creation leased",
  "creation signed",
  "bytes committed",
  "submitted",
  "sealed",
  "address bound",
  "events committed",
  "deployment found",
] as const;

export const faultPoint = defineFaultPoints("account", ACCOUNT_FAULT_POINTS);

import { defineFaultPoints } from "@countersign/core";

/** The watch of the chain's key events, from reading them to the commit of their events. */
const watch = ["events read", "change before commit", "change committed"] as const;

/**
 * Every place of a deployment, a key addition and the watch at which a fault test may kill, in their order.
 */
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
  enrollmentBySignature: [
    "addition prepared",
    "addition co-signed",
    "addition sponsored",
    "addition committed",
    "addition submitted",
    "addition decided",
    "addition settled",
    ...watch,
  ],
  enrollmentByTransaction: ["addition prepared", "addition verified", ...watch],
  chainChange: watch,
  timeLock: [],
  freeze: ["freeze received", "void signed", "void submitted", "void sealed", "freeze followed"],
  settlement: ["usage reported"],
  chainAlert: ["alert raised"],
  rotateServerKey: [
    "rotation prepared",
    "rotation co-signed",
    "rotation sponsored",
    "rotation committed",
    "rotation submitted",
    "rotation sealed",
    "rotation bound",
    "rotation reconciled",
  ],
} as const;

export const faultPoint = defineFaultPoints("account", ACCOUNT_FAULT_POINTS);

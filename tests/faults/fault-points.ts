import { GATEWAY_FAULT_POINTS } from "../../gateway/src/fault-points.ts";
import { OUTBOX_FAULT_POINTS } from "../../packages/outbox/src/fault-points.ts";
import { ACCOUNT_FAULT_POINTS } from "../../services/account/src/fault-points.ts";
import { AUTH_FAULT_POINTS } from "../../services/auth/src/fault-points.ts";
import { DEVICE_FAULT_POINTS } from "../../services/device/src/fault-points.ts";
import { KEY_FAULT_POINTS } from "../../services/key/src/fault-points.ts";
import { SIGNER_FAULT_POINTS } from "../../services/signer/src/fault-points.ts";

/** Every place of every program, as the controller is told it. */
export const allFaultPoints: readonly string[] = Object.entries({
  gateway: GATEWAY_FAULT_POINTS,
  auth: AUTH_FAULT_POINTS,
  account: ACCOUNT_FAULT_POINTS,
  signer: SIGNER_FAULT_POINTS,
  key: KEY_FAULT_POINTS,
  device: DEVICE_FAULT_POINTS,
  outbox: OUTBOX_FAULT_POINTS,
}).flatMap(([program, points]) => points.map((point) => `${program}/${point}`));

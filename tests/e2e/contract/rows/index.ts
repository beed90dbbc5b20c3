import type { Rows } from "../rows.ts";
import { accounts } from "./account.ts";
import { auth } from "./auth.ts";
import { devices, events } from "./device.ts";
import { keys } from "./keys.ts";
import { serverKeys } from "./server-keys.ts";
import { sessions } from "./sessions.ts";
import { sign } from "./sign.ts";
import { newDevice, twoFactor } from "./two-factor.ts";

/** Every operation. completeness.test.ts compares them with the route table. */
export const rows: Rows = {
  ...auth,
  ...newDevice,
  ...twoFactor,
  ...devices,
  ...events,
  ...keys,
  ...accounts,
  ...serverKeys,
  ...sign,
  ...sessions,
};

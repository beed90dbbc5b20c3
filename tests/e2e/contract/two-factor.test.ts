import { newDevice, twoFactor } from "./rows/two-factor.ts";
import { testRows } from "./rows.ts";

testRows({ ...newDevice, ...twoFactor });

import { devices, events } from "./rows/device.ts";
import { testRows } from "./rows.ts";

testRows({ ...devices, ...events });

import { sign } from "./rows/sign.ts";
import { testRows } from "./rows.ts";

testRows(sign);

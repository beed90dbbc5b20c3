import { keys } from "./rows/keys.ts";
import { testRows } from "./rows.ts";

testRows(keys);

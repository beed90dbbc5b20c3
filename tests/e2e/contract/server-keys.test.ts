import { serverKeys } from "./rows/server-keys.ts";
import { testRows } from "./rows.ts";

testRows(serverKeys);

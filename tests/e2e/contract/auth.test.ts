import { auth } from "./rows/auth.ts";
import { testRows } from "./rows.ts";

testRows(auth);

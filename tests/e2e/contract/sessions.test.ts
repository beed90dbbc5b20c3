import { sessions } from "./rows/sessions.ts";
import { testRows } from "./rows.ts";

testRows(sessions);

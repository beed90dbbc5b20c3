import { accounts } from "./rows/account.ts";
import { testRows } from "./rows.ts";

testRows(accounts);

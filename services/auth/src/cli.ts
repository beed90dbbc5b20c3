import { runCommand } from "@countersign/runtime";
import { accountsHolds } from "./commands/accounts-holds.ts";
import { accountsUnfreeze } from "./commands/accounts-unfreeze.ts";

await runCommand("auth", [accountsHolds, accountsUnfreeze]);

import { runCommand } from "@countersign/service-kit";
import { accountsHolds } from "./commands/accounts-holds.ts";
import { accountsUnfreeze } from "./commands/accounts-unfreeze.ts";

await runCommand("auth", [accountsHolds, accountsUnfreeze]);

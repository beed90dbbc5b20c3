import { runCommand } from "@countersign/runtime";
import { accountsAdopt } from "./commands/accounts-adopt.ts";
import { accountsHolds } from "./commands/accounts-holds.ts";
import { accountsUnfreeze } from "./commands/accounts-unfreeze.ts";
import { registerAgain } from "./commands/register-again.ts";
import { restore } from "./commands/restore.ts";

await runCommand("auth", [accountsHolds, accountsUnfreeze, accountsAdopt, restore, registerAgain]);

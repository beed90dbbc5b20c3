import { runCommand } from "@countersign/runtime";
import { accountsAdopt } from "./commands/accounts-adopt.ts";
import { registerAgain } from "./commands/register-again.ts";
import { restore } from "./commands/restore.ts";

await runCommand("auth", [accountsAdopt, restore, registerAgain]);

import { runCommand } from "@countersign/runtime";
import { chainReport } from "./commands/chain-report.ts";
import { networksCreate } from "./commands/networks-create.ts";
import { restore } from "./commands/restore.ts";

await runCommand("account", [networksCreate, chainReport, restore]);

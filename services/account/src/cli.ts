import { runCommand } from "@countersign/runtime";
import { networksCreate } from "./commands/networks-create.ts";

await runCommand("account", [networksCreate]);

import { runCommand } from "@countersign/runtime";
import { restore } from "./commands/restore.ts";

await runCommand("key", [restore]);

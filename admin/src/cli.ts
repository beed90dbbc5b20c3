#!/usr/bin/env node
import { runCommand } from "@countersign/runtime";
import { commands } from "./commands/index.ts";
import { errorLines } from "./output.ts";

await runCommand("countersign", commands, (error) => {
  for (const line of errorLines(error)) console.error(line);
  process.exitCode = 2;
});

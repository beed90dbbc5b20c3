import { parentPort, workerData } from "node:worker_threads";
import { collectFacts } from "../policy/script/facts.ts";
import { notUnderstood, type ScriptFacts } from "../policy/script/script-facts.ts";
import type { SyntaxNode } from "../policy/script/syntax.ts";
import { startParser } from "./wasm.ts";

/** A request to a worker, one at a time. */
export interface ParserRequest {
  readonly id: number;
  readonly script: string;
}

/** The worker's answer; the first one has the id 0 and says that it is ready. */
export interface ParserAnswer {
  readonly id: number;
  readonly facts?: ScriptFacts;
}

/** UTF-16 units; what the parser says goes to the caller, and may quote the script. */
const MAX_PROBLEM = 400;

const { module, glue } = workerData as { module: object; glue: string };
const parse = await startParser(module, glue, () => process.exit(1));
const answer = (message: ParserAnswer) => parentPort?.postMessage(message);

parentPort?.on("message", ({ id, script }: ParserRequest) => {
  // Anything thrown here ends the worker, and its script counts as not understood.
  const { program, error } = JSON.parse(String(parse(script))) as { program?: SyntaxNode; error?: string };
  const problem = (error ?? "no answer").slice(0, MAX_PROBLEM).toWellFormed();
  answer({ id, facts: program ? collectFacts(program) : notUnderstood(problem) });
});
answer({ id: 0 });

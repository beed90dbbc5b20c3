import { runInThisContext } from "node:vm";
import { parentPort, workerData } from "node:worker_threads";
import { collectFacts } from "../policy/script/facts.ts";
import { notUnderstood, type ScriptFacts } from "../policy/script/script-facts.ts";
import type { SyntaxNode } from "../policy/script/syntax.ts";

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

/** The part of WebAssembly that is used here: TypeScript has its types only with those of a browser. */
declare const WebAssembly: {
  instantiate(module: object, imports: object): Promise<{ exports: { mem: { buffer: ArrayBuffer } } }>;
};

/** The parser: source text → JSON of {program} or {error}. */
type Parse = (source: string) => unknown;

interface GoRuntime {
  readonly importObject: object;
  exit: (code: number) => void;
  run(instance: object): Promise<void>;
}

/**
 * Starts the compiled parser in this thread, with Go's own glue. The program ends only when it breaks: then
 * `broken` is called, and `parse` cannot be used any more.
 */
async function startParser(module: object, glue: string, broken: () => void): Promise<Parse> {
  runInThisContext(glue, { filename: "wasm_exec.js" });
  const { Go } = globalThis as unknown as { Go: new () => GoRuntime };
  const go = new Go();
  go.exit = broken;
  go.run(await WebAssembly.instantiate(module, go.importObject)).then(broken, broken);
  const { countersignParseCadence } = globalThis as { countersignParseCadence?: Parse };
  if (!countersignParseCadence) throw new Error("the WebAssembly module is not the Cadence parser");
  return countersignParseCadence;
}

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

import { runInThisContext } from "node:vm";

/** The part of WebAssembly that is used here: TypeScript has its types only with those of a browser. */
declare const WebAssembly: {
  instantiate(module: object, imports: object): Promise<{ exports: { mem: { buffer: ArrayBuffer } } }>;
};

interface GoRuntime {
  readonly importObject: object;
  exit: (code: number) => void;
  run(instance: object): Promise<void>;
}

/** The parser: source text → JSON of {program} or {error}. */
export type Parse = (source: string) => unknown;

/**
 * Starts the compiled parser in this thread, with Go's own glue. The program ends only when it breaks: then
 * `broken` is called, and `parse` cannot be used any more.
 */
export async function startParser(module: object, glue: string, broken: () => void): Promise<Parse> {
  runInThisContext(glue, { filename: "wasm_exec.js" });
  const { Go } = globalThis as unknown as { Go: new () => GoRuntime };
  const go = new Go();
  go.exit = broken;
  go.run(await WebAssembly.instantiate(module, go.importObject)).then(broken, broken);
  const { countersignParseCadence } = globalThis as { countersignParseCadence?: Parse };
  if (!countersignParseCadence) throw new Error("the WebAssembly module is not the Cadence parser");
  return countersignParseCadence;
}

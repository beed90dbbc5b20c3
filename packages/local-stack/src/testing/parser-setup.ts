import { ensureCadenceParser } from "@countersign/build/cadence-parser.ts";

/**
 * Vitest's global set-up of the `unit` project: the signer's rules are tested with the parser that they run
 * with.
 */
export default async function setup(): Promise<void> {
  await ensureCadenceParser((line) => console.log(line));
}

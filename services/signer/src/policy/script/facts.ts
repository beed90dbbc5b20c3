import { accountUses } from "./facts/account-uses.ts";
import { controllerUses } from "./facts/controllers.ts";
import { declarations, prepareParameters, shadows } from "./facts/declarations.ts";
import { importsOf } from "./facts/imports.ts";
import { members } from "./facts/members.ts";
import { storageCalls } from "./facts/storage-calls.ts";
import { typeUses } from "./facts/types.ts";
import { notUnderstood, type ScriptFacts } from "./script-facts.ts";
import type { SyntaxNode } from "./syntax.ts";

/**
 * Bytes of JSON that a worker sends and the cache keeps; honest scripts have one or two thousand. Facts are
 * never cut: the harm may be in what is left out.
 */
const MAX_FACTS_LENGTH = 16 * 1024;

/** Every name of a type is looked for among the imports. Honest scripts have up to twenty. */
const MAX_IMPORTS = 100;

/** Reads the tree once for each question; runs in the parser's worker. */
export function collectFacts(program: SyntaxNode): ScriptFacts {
  const imports = importsOf(program);
  if (imports.length > MAX_IMPORTS) return notUnderstood(`the script has more than ${MAX_IMPORTS} imports`);
  const prepare = prepareParameters(program, imports);
  const accounts = new Set(prepare.map(({ name }) => name));
  const facts: ScriptFacts = {
    problem: "",
    declarations: declarations(program),
    imports,
    shadows: shadows(program, imports),
    prepare,
    types: typeUses(program, imports),
    members: members(program, accounts),
    accountUses: [...accountUses(program, accounts, imports), ...controllerUses(program, accounts, imports)],
    storageCalls: storageCalls(program, accounts, imports),
  };
  return JSON.stringify(facts).length > MAX_FACTS_LENGTH ? notUnderstood("the script's facts exceed 16 KiB") : facts;
}

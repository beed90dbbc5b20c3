import { accountUses } from "./facts/account-uses.ts";
import { controllerUses } from "./facts/controllers.ts";
import { declarations, shadows } from "./facts/declarations.ts";
import { importsOf } from "./facts/imports.ts";
import { members } from "./facts/members.ts";
import { prepareParameters } from "./facts/prepare.ts";
import { storageCalls } from "./facts/storage-calls.ts";
import { typeUses } from "./facts/types.ts";
import { notUnderstood, type ScriptFacts } from "./script-facts.ts";
import type { SyntaxNode } from "./syntax.ts";

/** Bytes of JSON; what a worker sends and the cache keeps. Honest scripts have one or two thousand. Never cut: the harm may be in what is left out. */
const MOST_TO_SAY = 16 * 1024;

/** Reads the tree once for each question; runs in the parser's worker. */
export function collectFacts(program: SyntaxNode): ScriptFacts {
  const imports = importsOf(program);
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
  return JSON.stringify(facts).length > MOST_TO_SAY ? notUnderstood("the script says too much") : facts;
}

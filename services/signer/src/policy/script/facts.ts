import { type AccountUse, accountUses } from "./facts/account-uses.ts";
import { controllerUses } from "./facts/controllers.ts";
import { type Declared, declarations, type Shadow, shadows } from "./facts/declarations.ts";
import { type Imported, importsOf } from "./facts/imports.ts";
import { type Member, members } from "./facts/members.ts";
import { type PrepareParameter, prepareParameters } from "./facts/prepare.ts";
import { type StorageCall, storageCalls } from "./facts/storage-calls.ts";
import { type TypeUse, typeUses } from "./facts/types.ts";
import { notUnderstood, type SyntaxNode } from "./syntax.ts";

/** What the syntax tree of a script says, as far as rules ask for it. Knows no policy and no account: it is the same for everybody, for ever. */
export interface ScriptFacts {
  /** Why nothing else is known; empty where the script was understood. */
  readonly problem: string;
  readonly declarations: readonly Declared[];
  readonly imports: readonly Imported[];
  readonly shadows: readonly Shadow[];
  readonly prepare: readonly PrepareParameter[];
  readonly types: readonly TypeUse[];
  readonly members: readonly Member[];
  readonly accountUses: readonly AccountUse[];
  readonly storageCalls: readonly StorageCall[];
}

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

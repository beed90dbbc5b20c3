import type { AccountUse } from "./facts/account-uses.ts";
import type { Declared, Shadow } from "./facts/declarations.ts";
import type { Imported } from "./facts/imports.ts";
import type { Member } from "./facts/members.ts";
import type { PrepareParameter } from "./facts/prepare.ts";
import type { StorageCall } from "./facts/storage-calls.ts";
import type { TypeUse } from "./facts/types.ts";

/**
 * The facts that a script's syntax tree shows, as far as rules need them. They depend on neither policy nor
 * account, so they never change.
 */
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

/** Returns the facts of a text that is no script, or that takes too much to be read. */
export const notUnderstood = (problem: string): ScriptFacts => ({
  problem,
  declarations: [],
  imports: [],
  shadows: [],
  prepare: [],
  types: [],
  members: [],
  accountUses: [],
  storageCalls: [],
});

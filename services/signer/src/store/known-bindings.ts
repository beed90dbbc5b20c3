import { createRecentReads, type RecentReads } from "@countersign/postgres";
import type { Binding } from "../policy/account.ts";

export type KnownBindings = RecentReads<Binding[]>;

/** Returns whether an account is bound and not rotating: then its bindings may be cached. */
const isUnchanging = (found: readonly Binding[]): boolean =>
  found.length > 0 && found.every(({ rotatingTo }) => rotatingTo === undefined);

/** Caches accounts' bindings for a moment, but not during a rotation. */
export const createKnownBindings = (read: (accountId: string) => Promise<Binding[]>): KnownBindings =>
  createRecentReads(read, isUnchanging);

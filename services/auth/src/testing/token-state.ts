import { postgresTokenStateStore } from "../store/postgres-token-state-store.ts";
import { postgres } from "./store-fixture.ts";

/** Returns the token state's entries that a watcher with this cursor would get; without one, all. */
export async function tokenStateSince(since?: bigint) {
  const store = postgresTokenStateStore(postgres);
  let page = await store.readPage(since, undefined);
  const { entries } = page;
  while (page.end) {
    page = await store.readPage(since, page.end);
    entries.push(...page.entries);
  }
  return entries;
}

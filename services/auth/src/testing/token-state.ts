import { postgresTokenStateStore } from "../store/postgres-token-state-store.ts";
import { listEntries } from "./list-entries.ts";
import { postgres } from "./store-fixture.ts";

/** Positions before all entries: lifted ones belong to the changes since then. */
export const FIRST_POSITIONS = Array(256).fill("0").join();

/** Returns the token state's entries that a watcher at these positions would get; without them, the whole. */
export async function tokenStateSince(since?: string) {
  const store = postgresTokenStateStore(postgres);
  let page = await store.readPage(since, undefined);
  const entries = listEntries(page.entries);
  while (page.end) {
    page = await store.readPage(since, page.end);
    entries.push(...listEntries(page.entries));
  }
  return entries;
}

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { openPostgres, type Postgres } from "@countersign/postgres";
import { lockAccess } from "../../../services/auth/src/store/begin-sessions.ts";
import { postgresTokenStateStore } from "../../../services/auth/src/store/postgres-token-state-store.ts";
import { writeTokenState } from "../../../services/auth/src/store/write-token-state.ts";
import { listEntries } from "../../../services/auth/src/testing/list-entries.ts";
import type { PageEnd } from "../../../services/auth/src/tokens/token-state-feed.ts";
import { amountOf } from "./amount.ts";
import { onTemporaryCitus, urlsOf } from "./temporary.ts";

const WRITERS_PER_NODE = 4;
const LOCKERS_PER_NODE = 3;
/** Few, so that many connections want the same one. */
const LOCKED_ACCOUNTS = 4;

/** Reads the token state as auth's feed does, and collects the ended sessions. Returns how to end it. */
function startReader(postgres: Postgres) {
  const store = postgresTokenStateStore(postgres);
  const seen = new Set<string>();
  let since = "";
  const readOnce = async (): Promise<void> => {
    const positions = await store.readPositions();
    if (since !== "") {
      let end: PageEnd | undefined;
      do {
        const page = await store.readPage(since, end);
        for (const { endedSessionId } of listEntries(page.entries)) seen.add(endedSessionId!);
        end = page.end;
      } while (end !== undefined);
    }
    since = positions;
  };
  return { seen, readOnce };
}

/**
 * `race [--seconds 60] [--any-node]`: revokes through many connections and reads the token state meanwhile;
 * locks accounts through many connections. Fails where a revocation is missed or two have one lock.
 */
export async function race(args: readonly string[]): Promise<number> {
  const options = {
    seconds: { type: "string", default: "60" },
    "any-node": { type: "boolean", default: false },
  } as const;
  const { values } = parseArgs({ args: [...args], options });
  const seconds = amountOf("race [--seconds <n>] [--any-node]", values.seconds, "seconds");
  return onTemporaryCitus(async (citus) => {
    const urls = values["any-node"] ? urlsOf(citus, "auth") : urlsOf(citus, "auth").slice(0, 1);
    const until = performance.now() + 1_000 * seconds;
    const nodes = urls.map((url) => openPostgres(url, { connections: WRITERS_PER_NODE + LOCKERS_PER_NODE + 1 }));
    const readers = nodes.map(startReader);
    for (const { readOnce } of readers) await readOnce();

    const revoked: string[] = [];
    const write = async (postgres: Postgres): Promise<void> => {
      while (performance.now() < until) {
        // One or two accounts: their entries are on one shard or on two, and so are their locks.
        const accounts = Array.from({ length: 1 + Math.round(Math.random()) }, () => randomUUID()).sort();
        const ended = accounts.map((accountId) => ({ accountId, subject: randomUUID() }));
        await postgres.transaction(async (tx) => {
          for (const accountId of accounts) await lockAccess(tx, accountId);
          await writeTokenState(
            tx,
            ended.map((each) => ({ kind: "session", forMs: 3_600_000, ...each })),
          );
          if (Math.random() < 0.1) await sleep(20 * Math.random());
        });
        revoked.push(...ended.map(({ subject }) => subject));
      }
    };

    const accounts = Array.from({ length: LOCKED_ACCOUNTS }, () => randomUUID());
    const holders = new Map<string, number>();
    let [locks, doubles] = [0, 0];
    const lock = async (postgres: Postgres): Promise<void> => {
      while (performance.now() < until) {
        const account = accounts[Math.floor(Math.random() * accounts.length)]!;
        await postgres.transaction(async (tx) => {
          await lockAccess(tx, account);
          holders.set(account, (holders.get(account) ?? 0) + 1);
          if (holders.get(account)! > 1) doubles += 1;
          locks += 1;
          await sleep(2 * Math.random());
          holders.set(account, holders.get(account)! - 1);
        });
      }
    };
    const read = async (readOnce: () => Promise<void>): Promise<void> => {
      while (performance.now() < until) await readOnce();
    };
    const times = (count: number, work: () => Promise<void>) => Array.from({ length: count }, work);
    await Promise.all([
      ...nodes.flatMap((node) => times(WRITERS_PER_NODE, () => write(node))),
      ...nodes.flatMap((node) => times(LOCKERS_PER_NODE, () => lock(node))),
      ...readers.map(({ readOnce }) => read(readOnce)),
    ]);
    for (const { readOnce } of readers) await readOnce();
    const missed = readers.map(({ seen }) => revoked.filter((id) => !seen.has(id)).length);
    await Promise.all(nodes.map((node) => node.close()));
    console.log(
      `${revoked.length} revocations through ${nodes.length} nodes; missed by each reader: ${missed.join(", ")}`,
    );
    console.log(`${locks} locks of ${LOCKED_ACCOUNTS} accounts; held twice: ${doubles}`);
    return missed.every((count) => count === 0) && doubles === 0 && revoked.length > 0 && locks > 0 ? 0 : 1;
  });
}

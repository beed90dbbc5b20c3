import { createTestDatabase, type TestDatabase } from "@countersign/local-stack/testing/postgres.ts";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DatabaseRestoredError, openDatabaseMark, renewDatabaseMark, restoreDatabase } from "./database-mark.ts";
import { openPostgres, type Postgres } from "./postgres.ts";
import { sql } from "./statement.ts";

let database: TestDatabase;
let postgres: Postgres;
beforeEach(async () => {
  database = await createTestDatabase("key");
  postgres = openPostgres(database.url);
});
afterEach(async () => {
  await postgres.close();
  await database.drop();
});

/** The database as a server of another timeline has it, after a restore or a failover. */
const promote = () => postgres.execute(sql`UPDATE database_mark SET timeline = timeline + 6`);
const stated = { since: new Date("2026-11-20T10:00:00Z"), by: "ada", reason: "disk lost" };
const open = () => openDatabaseMark(postgres);

describe("the mark of a database", () => {
  it("lets every process start on the timeline of the one before", async () => {
    const [first, second] = [await open(), await open()];
    expect(second.seenAt.getTime()).toBeGreaterThanOrEqual(first.seenAt.getTime());
    expect(second.restoredAt).toBeUndefined();
  });

  it("lets no process start on another timeline", async () => {
    await open();
    await promote();
    await expect(open()).rejects.toThrow(DatabaseRestoredError);
    await expect(open()).rejects.toThrow(DatabaseRestoredError);
  });

  it("after a failover, a process that runs and has lost nothing lets others start", async () => {
    const { seenAt } = await open();
    await promote();
    await renewDatabaseMark(postgres, seenAt, 2_000);
    await open();
  });

  it("a process that was stopped for a minute approves no other timeline", async () => {
    const { seenAt } = await open();
    await renewDatabaseMark(postgres, seenAt, 70_000);
    await promote();
    await expect(renewDatabaseMark(postgres, seenAt, 70_000)).rejects.toThrow(DatabaseRestoredError);
  });

  it("ends a process that remembers more than the database", async () => {
    const { seenAt } = await open();
    const later = await renewDatabaseMark(postgres, seenAt, 2_000);
    await promote();
    await postgres.execute(sql`UPDATE database_mark SET seen_at = ${new Date(later.getTime() - 1)}`);
    await expect(renewDatabaseMark(postgres, later, 2_000)).rejects.toThrow(DatabaseRestoredError);
    await expect(open()).rejects.toThrow(DatabaseRestoredError);
  });
});

describe("a restore", () => {
  it("opens the database once all of its work is done, and says when", async () => {
    await open();
    await promote();
    const failing = restoreDatabase(postgres, stated, () => Promise.reject(new Error("no chain")));
    await expect(failing).rejects.toThrow("no chain");
    await expect(open()).rejects.toThrow(DatabaseRestoredError);
    const seen: boolean[] = [];
    await restoreDatabase(postgres, stated, async (wentBack) => void seen.push(wentBack));
    const { restoredAt, seenAt } = await open();
    expect(restoredAt?.getTime()).toBeLessThanOrEqual(seenAt.getTime());
    // Again, for a database that is open by now.
    await restoreDatabase(postgres, stated, async (wentBack) => void seen.push(wentBack));
    expect((await open()).restoredAt).toEqual(restoredAt);
    expect(seen).toEqual([true, false]);
  });

  it("takes a database without a mark for one that went back, and a proof for the same", async () => {
    const seen: boolean[] = [];
    await restoreDatabase(postgres, stated, async (wentBack) => void seen.push(wentBack));
    expect([seen, (await open()).restoredAt]).toEqual([[true], expect.any(Date)]);
    await postgres.execute(sql`UPDATE database_mark SET restored_at = NULL`);
    await restoreDatabase(postgres, stated, async (wentBack) => !wentBack);
    expect((await open()).restoredAt).toEqual(expect.any(Date));
    const denied = restoreDatabase(postgres, { ...stated, nothingLost: true }, async () => true);
    await expect(denied).rejects.toThrow("something is lost");
  });

  it("believes an operator that a failover lost nothing, or that a copy of a disk went back", async () => {
    await open();
    await promote();
    const seen: boolean[] = [];
    const note = async (wentBack: boolean) => void seen.push(wentBack);
    await restoreDatabase(postgres, { ...stated, nothingLost: true }, note);
    expect((await open()).restoredAt).toBeUndefined();
    await restoreDatabase(postgres, { ...stated, wentBack: true }, note);
    expect((await open()).restoredAt).toBeDefined();
    expect(seen).toEqual([false, true]);
  });

  it("is not begun at a moment that the database does not have", async () => {
    const { seenAt } = await open();
    await promote();
    const since = new Date(seenAt.getTime() + 3_600_000);
    const work = () => Promise.reject(new Error("must not run"));
    await expect(restoreDatabase(postgres, { ...stated, since }, work)).rejects.toThrow("must not be later");
  });
});

import { FixedClock, uuidv4 } from "@countersign/core";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { database, now, postgres, prisma, someSession, times } from "../testing/store-fixture.ts";
import { tokenStateSince } from "../testing/token-state.ts";
import { createTokenKeys } from "../tokens/token-keys.ts";
import { postgresSessionStore } from "./postgres-session-store.ts";
import { postgresTokenStateStore } from "./postgres-token-state-store.ts";
import { notifyServices } from "./prisma-freeze-store.ts";
import { prismaTokenKeyStore } from "./prisma-token-key-store.ts";

describe("the token state", () => {
  it("misses nothing of a transaction that began early and committed late", async () => {
    const store = postgresTokenStateStore(postgres);
    const late = new pg.Client({ connectionString: database.url });
    await late.connect();
    try {
      await late.query("BEGIN");
      const insert = `INSERT INTO token_state_entry (kind, subject, active, until, txid)
        VALUES ('session', $1, true, NULL, pg_current_xact_id()::text::bigint)`;
      const lateId = uuidv4();
      await late.query(insert, [lateId]);
      const session = someSession();
      await postgresSessionStore(prisma, postgres).begin(session, "");
      await postgresSessionStore(prisma, postgres).end(session.accountId, { id: session.id }, "signed-out", now, "");
      // A reader that comes now sees the later transaction and not the earlier one.
      const cursor = await store.readHorizon();
      const seen = (await tokenStateSince()).map((entry) => entry.endedSessionId);
      expect(seen).toContain(session.id);
      expect(seen).not.toContain(lateId);
      await late.query("COMMIT");
      const after = (await tokenStateSince(cursor)).map((entry) => entry.endedSessionId);
      expect(after).toContain(lateId);
    } finally {
      await late.end();
    }
  });

  it("says of a freeze that was lifted when that was, also to a watcher that begins again", async () => {
    const accountId = uuidv4();
    const ofAccount = async () =>
      (await tokenStateSince()).filter(({ frozenAccountId }) => frozenAccountId === accountId);
    await prisma.$transaction((tx) => notifyServices(tx, accountId, true, now));
    expect(await ofAccount()).toMatchObject([{ active: true, until: undefined }]);
    await prisma.$transaction((tx) => notifyServices(tx, accountId, false, now));
    expect(await ofAccount()).toMatchObject([{ active: false, until: now }]);
  });

  it("two replicas that start at once make one token key, and the next in time", async () => {
    const time = new FixedClock(now);
    const options = {
      store: prismaTokenKeyStore(prisma),
      encryptionKey: Buffer.alloc(32, 7),
      clock: time,
      periodMs: 30 * 86_400_000,
    };
    const replicas = times(3, () => createTokenKeys(options));
    await Promise.all(replicas.map((keys) => keys.rotate()));
    expect(await prisma.tokenKey.count()).toBe(1);
    const [keys] = replicas;
    const first = (await keys!.signingKey()).kid;
    time.advance(29.5 * 86_400_000);
    await Promise.all(replicas.map((each) => each.rotate()));
    expect((await keys!.published()).map(({ kid }) => kid)).toHaveLength(2);
    expect((await keys!.signingKey()).kid).toBe(first);
    time.advance(86_400_000);
    expect((await keys!.signingKey()).kid).not.toBe(first);
    for (const jwk of await keys!.published()) expect(jwk).not.toHaveProperty("d");
    const wrong = createTokenKeys({ ...options, encryptionKey: Buffer.alloc(32, 8) });
    await expect(wrong.signingKey()).rejects.toThrow();
  });
});

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { uuidv4, uuidv7 } from "@countersign/core";
import { generateKeyPair } from "@countersign/keys/node";
import { openDatabaseMark, sql } from "@countersign/postgres";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { publicKeyToProto } from "@countersign/rpc";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, vi } from "vitest";
import { isFrozen } from "../store/prisma-freeze-store.ts";
import { openHolds } from "../store/prisma-hold-store.ts";
import { freezing, phoneOf } from "../testing/freezing.ts";
import { clock, database, now, postgres, prisma } from "../testing/store-fixture.ts";
import { restore } from "./restore.ts";

let directory: string;
beforeAll(async () => {
  await openDatabaseMark(postgres);
  directory = mkdtempSync(join(tmpdir(), "countersign-restore-"));
});
afterAll(() => rmSync(directory, { recursive: true }));
let accountId: string;
beforeEach(() => {
  accountId = uuidv7(clock);
});

const line = (event: string, payload: Partial<Event>, service = "auth") => {
  const message = Event.create({ id: uuidv7(clock), accountId, requestId: "", occurredAt: clock.now(), ...payload });
  const subject = `cs.v1.${service}.${accountId}.${event}`;
  clock.advance(1);
  return JSON.stringify({ subject, event: Buffer.from(Event.encode(message).finish()).toString("base64") });
};

/** A restore does not run through PgBouncer, which has the services' time limits. */
const postgresItself = () => new URL(new URL(database.url).pathname, inject("postgresUrl")).href;

async function run({ wentBack = true, events = [] as string[] } = {}) {
  const [eventsFile, out] = [join(directory, "events"), join(directory, "out")];
  writeFileSync(eventsFile, events.map((each) => `${each}\n`).join(""));
  const stated = ["--since", "2026-11-20T09:00:00Z", "--by", "ada", "--reason", "disk lost"];
  const source = events.length > 0 ? ["--events", eventsFile] : ["--no-events"];
  const args = [...stated, ...source, "--out", out, ...(wentBack ? ["--went-back"] : [])];
  const lines: string[] = [];
  await restore.run({ args, env: { AUTH_DATABASE_URL: postgresItself() }, print: (text) => lines.push(text) });
  return { lines, accounts: readFileSync(out, "utf8") };
}

describe("auth's database went back", () => {
  it("no session, refresh token, challenge or token key of before is good any more", async () => {
    const session = await phoneOf(accountId);
    await prisma.challenge.create({
      data: { data: "ab", type: "t", accountId, chainName: "c", appId: "a", appName: "", expiresAt: now },
    });
    const key = { publicJwk: {}, encryptedPrivate: Buffer.alloc(1), signsFrom: now, signsUntil: now };
    await prisma.tokenKey.create({ data: { kid: uuidv4(), ...key } });
    await run();
    const row = await prisma.session.findUniqueOrThrow({ where: { id: session.id } });
    expect(row).toMatchObject({ endedAt: expect.any(Date), endedCause: "database-restored" });
    expect([await prisma.challenge.count(), await prisma.tokenKey.count()]).toEqual([0, 0]);
  });

  it("a request to lift a freeze waits from its beginning again; a joined freeze stays joined", async () => {
    const [first, second, joined] = [await phoneOf(accountId), await phoneOf(accountId), await phoneOf(accountId)];
    await freezing.freeze(first);
    await freezing.freeze(joined);
    for (const phone of [second, joined]) await freezing.unfreeze(phone).catch(() => undefined);
    expect(await prisma.freezeParty.count({ where: { accountId, askedAt: { not: null } } })).toBe(2);
    await run();
    const parties = await prisma.freezeParty.findMany({ where: { accountId } });
    const noRequest = { timeLockId: null, askedAt: null, availableAt: null, lapsesAt: null };
    expect(parties).toMatchObject([{ joinedAt: expect.any(Date), ...noRequest }]);
    expect(await isFrozen(prisma, accountId)).toBe(true);
  });

  it("a sign-in of a new device that is under way ends", async () => {
    const key = { accountKeyAlgorithm: "ES256", accountKey: "a", deviceKeyAlgorithm: "ES256", deviceKey: "d" };
    const id = uuidv4();
    const rest = { chainName: "c", appId: "a", appName: "", deviceAttributes: {}, tokenId: uuidv4(), createdAt: now };
    const expiresAt = new Date(Date.now() + 300_000);
    await prisma.twoFactorSignIn.create({ data: { id, accountId, ...key, ...rest, expiresAt } });
    await run();
    const row = await prisma.twoFactorSignIn.findUniqueOrThrow({ where: { id } });
    expect(row.expiresAt.getTime()).toBeLessThanOrEqual(Date.now());
  });

  it("the end of all sessions may take an hour: there may be millions", async () => {
    await postgres.execute(sql`CREATE TABLE limits (statement text, transaction text)`);
    await postgres.execute(sql`
      CREATE FUNCTION note_limits() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO limits VALUES (
          current_setting('statement_timeout'), current_setting('idle_in_transaction_session_timeout'));
        RETURN NULL;
      END $$`);
    await postgres.execute(sql`
      CREATE TRIGGER note_limits AFTER UPDATE ON session FOR EACH STATEMENT EXECUTE FUNCTION note_limits()`);
    await postgres.execute(sql`
      CREATE TRIGGER note_limits AFTER UPDATE ON database_mark FOR EACH STATEMENT EXECUTE FUNCTION note_limits()`);
    const silence = vi.spyOn(Socket.prototype, "setTimeout");
    await run();
    const limits = { statement: "1h", transaction: "1h" };
    expect(await postgres.query(sql`SELECT * FROM limits`)).toEqual([limits, limits]);
    expect(silence).toHaveBeenCalledWith(3_600_000);
    silence.mockRestore();
    await postgres.execute(sql`DROP FUNCTION note_limits CASCADE`);
  });

  it("where it did not, everything goes on", async () => {
    const session = await phoneOf(accountId);
    await run({ wentBack: false });
    expect(await prisma.session.findUniqueOrThrow({ where: { id: session.id } })).toMatchObject({ endedAt: null });
  });

  it("does not open without a statement about the events", async () => {
    const args = ["--since", "2026-11-20T09:00:00Z", "--by", "ada", "--reason", "r", "--out", join(directory, "x")];
    await expect(restore.run({ args, env: {}, print: () => undefined })).rejects.toThrow(
      "usage" in restore ? restore.usage : "",
    );
  });
});

describe("events of the stream take away again what the database forgot", () => {
  it("a freeze, until an operator lifts it; one that was lifted since stays lifted", async () => {
    const events = [
      line("account-frozen", { accountFrozen: { frozen: true, cause: "user" } }),
      line("account-unfrozen", { accountFrozen: { frozen: false, cause: "user" } }),
    ];
    await run({ events });
    expect(await isFrozen(prisma, accountId)).toBe(false);
    events.push(line("account-frozen", { accountFrozen: { frozen: true, cause: "user" } }));
    await run({ events });
    await run({ events });
    expect(await isFrozen(prisma, accountId)).toBe(true);
    const holds = await openHolds(prisma, accountId);
    expect(holds).toMatchObject([{ eventType: "auth.account-frozen" }]);
  });

  it("alerts of the chain watch: of each account the last one", async () => {
    const of = { chainName: "c", eventType: "e", eventIndex: 0, height: 1n, kind: "keys", freezes: true };
    const alert = (transactionId: string) => line("chain-alert", { chainAlert: { ...of, transactionId } }, "account");
    await run({ events: ["a", "b", "c"].map((digit) => alert(digit.repeat(64))) });
    expect(await openHolds(prisma, accountId)).toMatchObject([{ transactionId: "c".repeat(64) }]);
    expect(await isFrozen(prisma, accountId)).toBe(true);
  });

  it("a removed device, a revoked key, an account that left", async () => {
    const deviceKey = generateKeyPair().publicKey;
    const accountKey = generateKeyPair().publicKey;
    const revoked = { accountKey: publicKeyToProto(accountKey), chainName: "c", keyIndex: 2, deviceKey: undefined };
    await run({
      events: [
        line(
          "device-removed",
          { deviceRemoved: { deviceId: uuidv4(), deviceKey: publicKeyToProto(deviceKey) } },
          "device",
        ),
        line("key-revoked", { keyRevoked: { ...revoked, lastOfDevice: false } }, "key"),
        line("account-left", { accountLeft: {} }, "key"),
      ],
    });
    const blocked = await prisma.blockedKey.findMany({ where: { accountId } });
    expect(blocked.map(({ publicKey }) => publicKey).sort()).toEqual(
      [deviceKey.publicKey, accountKey.publicKey].sort(),
    );
    expect(await prisma.leftAccount.count({ where: { accountId } })).toBe(1);
  });

  it("also where a service has sent events that name no key", async () => {
    const { publicKey } = generateKeyPair();
    const removal = (deviceKey: ReturnType<typeof publicKeyToProto> | undefined) =>
      line("device-removed", { deviceRemoved: { deviceId: uuidv4(), deviceKey } }, "device");
    await run({ events: [removal(undefined), removal(publicKeyToProto(publicKey))] });
    const blocked = await prisma.blockedKey.findMany({ where: { accountId } });
    expect(blocked.map((key) => key.publicKey)).toEqual([publicKey.publicKey]);
  });

  it("but not events of another service under the same name", async () => {
    const forged = line("account-frozen", { accountFrozen: { frozen: true, cause: "user" } }, "device");
    await run({ events: [forged] });
    expect(await isFrozen(prisma, accountId)).toBe(false);
  });
});

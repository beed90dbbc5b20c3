import { uuidv4 } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { sql } from "@countersign/postgres";
import { beforeEach, describe, expect, it } from "vitest";
import { sampleDevice } from "../testing/sample-device.ts";
import { signUp } from "../testing/sign-up.ts";
import { now, person, postgres, prisma } from "../testing/store-fixture.ts";
import { ACCOUNT_TABLES, authReadings } from "./account-readings.ts";

let profile: ReturnType<typeof person>;
let accountId: string;
beforeEach(async () => {
  profile = { ...person(), email: "Ada@example.com" };
  accountId = (await signUp(new FixedClock(now.toISOString()), profile)).accountId;
});

describe("the tables that administrators see", () => {
  it("show no push token, at any depth of a column", async () => {
    const pushToken = "push-token-of-ada";
    const deviceAttributes = { ...sampleDevice, pushToken, more: [{ pushToken }] };
    await prisma.signUp.updateMany({ where: { accountId }, data: { deviceAttributes } });
    const readings = authReadings(postgres);
    const shown = [JSON.stringify(await readings.describe(accountId))];
    for await (const { rowJson } of readings.exportRows(accountId)) shown.push(rowJson);
    expect(shown.join("\n")).toContain(sampleDevice.name);
    expect(shown.join("\n")).not.toContain(pushToken);
  });

  it("are all that have rows about accounts, but three that are empty within a day", async () => {
    const rows = await prisma.$queryRaw<{ name: string }[]>`
      SELECT DISTINCT table_name::text AS name FROM information_schema.columns
      WHERE table_schema = 'public' AND column_name = 'account_id'`;
    const shown = ACCOUNT_TABLES.map(({ name }) => name);
    expect([...shown, "challenge", "outbox", "used_idempotency_key"].sort()).toEqual(
      rows.map(({ name }) => name).sort(),
    );
  });

  it("are exported whole, as many rows as there are, also where others are deleted meanwhile", {
    timeout: 60_000,
  }, async () => {
    // Somebody with the login leaves more in three days.
    await postgres.execute(sql`
      INSERT INTO blocked_key (account_id, algorithm, public_key)
      SELECT ${accountId}::uuid, 'ES256', i::text FROM generate_series(1, 100001) AS i`);
    const keys = new Set<string>();
    for await (const { table, rowJson } of authReadings(postgres).exportRows(accountId))
      if (table === "blocked_key") {
        const key = JSON.parse(rowJson).public_key as string;
        if (keys.size < 10) await prisma.blockedKey.deleteMany({ where: { accountId, publicKey: key } });
        keys.add(key);
      }
    expect(keys.size).toBe(100_001);
  });

  it("find a person by e-mail in any case, by identity and by each id", async () => {
    const { find } = authReadings(postgres);
    const other = uuidv4();
    expect(await find({ kind: "email", text: "ada@EXAMPLE.com" })).toContain(accountId);
    expect(await find({ kind: "email", text: "%@example.com" })).toEqual([]);
    expect(await find({ kind: "identity", issuer: profile.issuer, subject: profile.subject })).toEqual([accountId]);
    expect(await find({ kind: "id", text: accountId })).toEqual([accountId]);
    expect(await find({ kind: "id", text: other })).toEqual([]);
    expect(await find({ kind: "address", text: "0".repeat(16) })).toEqual([]);
  });
});

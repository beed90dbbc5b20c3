import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SERVICES } from "@countersign/admin/services.ts";
import { TermKind } from "@countersign/proto/admin/v1/admin.ts";
import { beforeAll, describe, expect, it } from "vitest";
import { asAdmin, countersign, reason } from "../support/admin.ts";
import { stack } from "../support/person.ts";
import { describeAccount, drain } from "./administrators.ts";
import { afterwards, attackerPhone, idTokenOf, newVictim, type Victim } from "./attacker.ts";
import { stateDir } from "./secrets.ts";
import { query } from "./token-forge.ts";

let victim: Victim;
beforeAll(async () => {
  victim = await newVictim();
});

describe("the output", () => {
  it("text of a device does nothing to the terminal", async () => {
    const name = "\u001b[2J\u001b]0;owned\u0007\u202etxt.exe\u009b31m\nauth: session";
    await query("device", "UPDATE device SET name = $2 WHERE account_id = $1", [victim.accountId, name]);
    const shown = await countersign(stack, "ada", "find", victim.accountId);
    expect(shown.code).toBe(0);
    const json = await countersign(stack, "ada", "find", victim.accountId, "--json");
    for (const { stdout } of [shown, json]) expect(stdout.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\u202e]/u);
    expect(shown.stdout).toContain("\\u{1b}[2J");
    expect(shown.stdout.split("\n")).not.toContain("auth: session\u009b");
    const { device } = JSON.parse(json.stdout);
    const [table] = device.tables.filter((each: { name: string }) => each.name === "device");
    expect(table.rows[0].values).toContain(name);
  });

  it("an account with many rows is shown in part", async () => {
    await query(
      "auth",
      `INSERT INTO blocked_key SELECT $1, 'ES256', md5(n::text), now() + interval '1 hour' FROM generate_series(1, 500) AS n`,
      [victim.accountId],
    );
    const { tables } = await describeAccount("auth", { reason, accountId: victim.accountId });
    await query("auth", "DELETE FROM blocked_key WHERE account_id = $1", [victim.accountId]);
    const table = tables.find(({ name }) => name === "blocked_key")!;
    expect(table.rows).toHaveLength(50);
    expect(table.truncated).toBe(true);
  });

  it("pages have a limit", async () => {
    const refused = { reason: "InvalidRequest" };
    await asAdmin(stack, "ada", async ({ each, key, account }) => {
      const many = { reason, accountId: "", beforeId: "", limit: 201 };
      await expect(each.auth.listActions(many)).rejects.toMatchObject(refused);
      const all = { reason, accountId: "", afterAccountId: "", limit: 10_001 };
      await expect(drain(key.compareKeys(all))).rejects.toMatchObject(refused);
      await expect(drain(account.compareAccounts(all))).rejects.toMatchObject(refused);
      await expect(drain(account.compareAccounts({ ...all, limit: -1 }))).rejects.toMatchObject(refused);
    });
  });

  it.each([
    [TermKind.TERM_KIND_ID, "' OR true --"],
    [TermKind.TERM_KIND_EMAIL, "%"],
    [TermKind.TERM_KIND_EMAIL, "a\u0000@example.com"],
    [TermKind.TERM_KIND_ADDRESS, "%"],
    [TermKind.TERM_KIND_KEY, "' OR '1'='1"],
    [TermKind.TERM_KIND_IDENTITY, "x"],
    [TermKind.TERM_KIND_UNSPECIFIED, "x"],
    [99 as TermKind, "x"],
  ])("a term of kind %s that is none, %j, is refused", async (kind, term) => {
    await asAdmin(stack, "ada", async ({ each }) => {
      for (const service of SERVICES)
        await expect(each[service].findAccounts({ reason, kind, term })).rejects.toMatchObject({
          reason: "InvalidRequest",
        });
    });
  });

  it("patterns in an e-mail address match nothing but themselves", async () => {
    const term = "%@example.com";
    await asAdmin(stack, "ada", async ({ each }) => {
      const found = await each.auth.findAccounts({ reason, kind: TermKind.TERM_KIND_EMAIL, term });
      expect(found.accountIds).toEqual([]);
    });
  });

  it("secrets of sessions and devices are not shown, nor exported", async () => {
    const [secrets] = await query<Record<string, string>>(
      "auth",
      "SELECT refresh_id, previous_refresh_id FROM session WHERE account_id = $1",
      [victim.accountId],
    );
    await query("device", "UPDATE device SET push_token = 'push-token-of-the-victim' WHERE account_id = $1", [
      victim.accountId,
    ]);
    const device = { name: "Thief's", osName: "iOS", type: "mobile", pushToken: "push-token-of-the-thief" } as const;
    const login = { method: "id_token_channel", token: (await idTokenOf(victim.email)).idToken } as const;
    const thief = attackerPhone().client;
    const asked = await thief.requestTwoFactor({ login, chainName: stack.chains[0]!.chainName, device });
    const shown: string[] = [];
    for (const service of SERVICES) {
      shown.push(JSON.stringify(await describeAccount(service, { reason, accountId: victim.accountId })));
      await asAdmin(stack, "ada", async ({ each }) => {
        for await (const { rowJson } of each[service].exportPerson({ reason, accountId: victim.accountId }))
          shown.push(rowJson);
      });
    }
    const all = shown.join("\n");
    expect(all).toContain(victim.email);
    expect(all).not.toContain(secrets!.refresh_id);
    expect(all).toContain("Thief's");
    expect(all).not.toContain("push-token-of");
    await victim.client.rejectTwoFactor(asked.twoFactorAuth.id);
  });
});

it("an e-mail address that was looked for is neither in a log nor in a record", async () => {
  const { stdout, code } = await countersign(stack, "ada", "find", victim.email.toUpperCase(), "--json");
  expect(code).toBe(0);
  expect(JSON.parse(stdout).accountId).toBe(victim.accountId);
  for (const service of SERVICES) {
    const rows = await query<{ text: string }>(service, "SELECT to_jsonb(a)::text AS text FROM admin_action AS a");
    expect(rows.map(({ text }) => text.toLowerCase()).join("\n")).not.toContain(victim.email);
    const log = readFileSync(join(stateDir, "log", `${service}.log`), "utf8").toLowerCase();
    expect(log).toContain("administrator's command");
    expect(log).not.toContain(victim.email);
  }
  const auth = readFileSync(join(stateDir, "log", "auth.log"), "utf8");
  const line = auth.split("\n").findLast((each) => each.includes("administrator's command"))!;
  expect(JSON.parse(line)).toMatchObject({ event: "admin-action", person: "ada", why: reason });
});

afterwards();

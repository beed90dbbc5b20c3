import { readFileSync, statSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { query } from "../security/token-forge.ts";
import { countersign } from "../support/admin.ts";
import { chainName, logIn, newPhone, pollOptions, problemOf, stack } from "../support/person.ts";
import { json, newSigner, outputFiles, rowsOf } from "./administrator.ts";

const place = outputFiles();
const { person, accountId } = await newSigner();

describe("a person's data", () => {
  it("is exported whole, to a file that only the administrator reads", async () => {
    const file = place("person.jsonl");
    await json("ada", "person", "export", accountId, "--out", file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const rows = readFileSync(file, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(rows).toContainEqual(
      expect.objectContaining({
        service: "auth",
        table: "identity",
        row: expect.objectContaining({ email: person.email }),
      }),
    );
    const tables = new Set(rows.map(({ service, table }) => `${service}.${table}`));
    for (const table of ["auth.session", "device.device", "key.registration", "account.address", "signer.binding"])
      expect(tables).toContain(table);
    expect(await countersign(stack, "ada", "person", "export", accountId, "--out", file)).toMatchObject({ code: 2 });
  });

  it("is erased in every service once two persons agree; the audit log stays whole", async () => {
    const { client } = newPhone();
    const device = { name: "Tablet of Ada", osName: "iOS", type: "mobile" } as const;
    await client.requestTwoFactor({ login: await logIn(person.email), chainName, device });
    const asked = await json("ada", "person", "erase", accountId);
    expect(asked.outcome).toBe("requested");
    expect(await rowsOf(accountId, "auth", "identity")).toBe(1);
    expect((await json("grace", "requests", "approve", asked.actionId, "--account", accountId)).outcome).toBe("done");

    for (const table of ["identity", "session", "sign_up", "former_session", "two_factor_sign_in"])
      expect(await rowsOf(accountId, "auth", table), table).toBe(0);
    await expect.poll(() => rowsOf(accountId, "device", "device"), pollOptions).toBe(0);
    await expect.poll(() => rowsOf(accountId, "device", "two_factor"), pollOptions).toBe(0);
    const names = () => query("key", "SELECT DISTINCT name FROM registration WHERE account_id = $1", [accountId]);
    await expect.poll(names, pollOptions).toEqual([{ name: "" }]);
    const pictures = () => query("account", "SELECT profile_image_url AS url FROM account WHERE id = $1", [accountId]);
    await expect.poll(pictures, pollOptions).toEqual([{ url: "" }]);

    await expect
      .poll(() => problemOf(person.client.me()).then(({ error }) => error, String), pollOptions)
      .toBe("SessionEnded");
    expect((await countersign(stack, "ada", "audit", "verify")).stdout).toContain("\nwhole");
    const file = place("afterwards.jsonl");
    await json("ada", "person", "export", accountId, "--out", file);
    expect(readFileSync(file, "utf8")).not.toContain(person.email);
    expect(readFileSync(file, "utf8")).not.toContain("Tablet of Ada");
  });

  it("may be erased again, and the person may sign up again", async () => {
    const asked = await json("ada", "person", "erase", accountId);
    expect((await json("grace", "requests", "approve", asked.actionId, "--account", accountId)).outcome).toBe("done");
    const { client } = newPhone();
    const again = await client.signUp({ login: await logIn(person.email), chainName });
    expect(again.account.id).not.toBe(accountId);
    expect((await client.signIn({ login: await logIn(person.email), chainName })).account.id).toBe(again.account.id);
  });
});

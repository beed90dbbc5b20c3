import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { query } from "../security/token-forge.ts";
import { asAdmin, countersign, liftHolds, reason } from "../support/admin.ts";
import { stack } from "../support/person.ts";
import { json, newSigner } from "./administrator.ts";

const { person, accountId } = await newSigner();

describe("find", () => {
  it("shows saga, keys, devices, sessions, freeze, bindings and the last signatures of an account", async () => {
    await asAdmin(stack, "ada", ({ auth }) => auth.holdAccount({ reason, accountId }));
    const found = await json("ada", "find", accountId);
    const tables = ["auth", "device", "key", "account", "signer"].flatMap((service) =>
      found[service].tables.map(({ name }: { name: string }) => `${service}: ${name}`),
    );
    expect(tables).toEqual(
      expect.arrayContaining([
        ...["auth: identity", "auth: sign_up", "auth: session", "auth: account_hold", "device: device"],
        ...["key: registration", "account: address", "account: deployment", "signer: binding"],
        "signer: last decisions",
      ]),
    );
    const decisions = found.signer.tables.at(-1);
    expect(decisions.columns).toContain("verdict");
    expect(JSON.stringify(decisions.rows)).toContain("signed");
    const [{ alert_id: seen }] = (await query("auth", "SELECT alert_id FROM account_hold WHERE account_id = $1", [
      accountId,
    ])) as [{ alert_id: string }];
    await liftHolds(stack, accountId, seen);
  });

  it("by each id, e-mail address, address and key", async () => {
    const [session] = await query<{ id: string }>("auth", "SELECT id FROM session WHERE account_id = $1", [accountId]);
    const [key] = await query<{ id: string }>("key", "SELECT id FROM registration WHERE account_id = $1", [accountId]);
    const [identity] = await query<{ issuer: string; subject: string }>(
      "auth",
      "SELECT issuer, subject FROM identity WHERE account_id = $1",
      [accountId],
    );
    const [device] = await person.client.devices();
    const { publicKey } = person.deviceKey;
    const evm = person.signedUp.account.addresses[1]!.address;
    const terms = [
      ...[session!.id, key!.id, device!.id, person.email, person.email.toUpperCase()],
      ...[person.address, `0x${person.address}`, evm, publicKey, `0x04${publicKey}`, publicKey.toUpperCase()],
      `${identity!.issuer} ${identity!.subject}`,
    ];
    for (const term of terms) expect((await json("ada", "find", term)).accountId, term).toBe(accountId);
  });

  it("answers that there is none, and refuses what is no term", async () => {
    expect(await countersign(stack, "ada", "find", crypto.randomUUID())).toMatchObject({
      code: 1,
      stdout: "no account\n",
    });
    expect(await countersign(stack, "ada", "find", "'; DROP TABLE")).toMatchObject({ code: 2 });
  });
});

describe("a command line", () => {
  it("needs a reason, and knows its options", async () => {
    const without = promisify(execFile)(process.execPath, ["admin/src/cli.ts", "accounts", "holds"], { env: {} });
    await expect(without).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining("--reason is missing") });
    expect(await countersign(stack, "ada", "accounts", "holds", "--by", "grace")).toMatchObject({ code: 2 });
    expect(await countersign(stack, "ada", "accounts", "holds", "--reason", "no")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("must say why"),
    });
  });

  it("is completed by bash", async () => {
    const { stdout } = await countersign(stack, "ada", "completion", "bash");
    const complete = async (...words: string[]) => {
      const script = `${stdout}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _countersign; echo "\${COMPREPLY[@]}"`;
      return (await promisify(execFile)("bash", ["-c", script, "bash", "countersign", ...words])).stdout.trim();
    };
    expect(await complete("acc")).toBe("accounts");
    expect(await complete("accounts", "un")).toBe("unfreeze");
    expect(await complete("accounts", "unfreeze", accountId, "--s")).toBe("--seen");
    expect((await complete("find", accountId, "--")).split(" ").sort()).toEqual(["--json", "--reason"]);
    expect((await complete("drift", "--")).split(" ")).toContain("--all");
    const zsh = await countersign(stack, "ada", "completion", "zsh");
    expect(zsh.stdout).toContain("bashcompinit");
  });
});

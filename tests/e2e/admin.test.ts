import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { sendTransaction } from "@countersign/client";
import { payloadMessage } from "@countersign/flow";
import { bytesToHex } from "@countersign/keys";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { query } from "../security/token-forge.ts";
import { type AdminName, asAdmin, countersign, liftHolds, reason } from "../support/admin.ts";
import {
  access,
  chain,
  chainName,
  logIn,
  NOTHING,
  network,
  newPhone,
  type Person,
  pollOptions,
  problemOf,
  signUpPerson,
  stack,
} from "../support/person.ts";
import { runAsOwner } from "./chain-owner.ts";

const directory = mkdtempSync(join(tmpdir(), "countersign-admin-"));
const place = (name: string) => join(directory, name);
afterAll(() => rmSync(directory, { recursive: true, force: true }));

let person: Person;
let accountId: string;
beforeAll(async () => {
  person = await signUpPerson();
  accountId = person.signedUp.account.id;
  await sendTransaction(person.client, { network, cadence: NOTHING });
});

/** Runs a command with `--json`, which must succeed. */
async function json(who: AdminName, ...args: string[]) {
  const { code, stdout, stderr } = await countersign(stack, who, ...args, "--json");
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
}
const unknownId = () => crypto.randomUUID();
const count = async (service: string, table: string, id = accountId, column = "account_id") =>
  (await query(service, `SELECT 1 FROM ${table} WHERE ${column} = $1`, [id])).length;

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
    expect(await countersign(stack, "ada", "find", unknownId())).toMatchObject({ code: 1, stdout: "no account\n" });
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

describe("access", () => {
  it("a freeze stops signing until two persons have lifted it", async () => {
    const signs = () =>
      sendTransaction(person.client, { network, cadence: NOTHING }).then(
        () => "signed",
        ({ error }) => error,
      );
    const frozen = await json("ada", "accounts", "freeze", accountId);
    await expect.poll(signs, pollOptions).toBe("AccountFrozen");
    const holds = await json("grace", "accounts", "holds", accountId);
    expect(holds).toMatchObject([{ alertId: frozen.actionId, eventType: "administrator" }]);
    const asked = await json("ada", "accounts", "unfreeze", accountId, "--seen", frozen.actionId);
    expect(asked.outcome).toBe("requested");
    const requests = await json("grace", "requests", "list");
    const shown = await countersign(stack, "grace", "requests", "list");
    expect(shown.stdout).toContain(
      `accounts unfreeze ${accountId} {"seen": "${frozen.actionId}"}`.replace('": "', '":"'),
    );
    expect(shown.stdout).toContain(`reason: ${reason}`);
    expect(requests).toContainEqual(expect.objectContaining({ id: asked.actionId, person: "ada", reason }));
    expect(await countersign(stack, "ada", "requests", "approve", asked.actionId)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("SecondPersonRequired"),
    });
    const [refused] = (await json("grace", "actions", "list", "--service", "auth")).slice(1);
    expect(refused).toMatchObject({ command: "requests approve", person: "ada", outcome: "SecondPersonRequired" });
    expect((await json("grace", "requests", "approve", asked.actionId)).outcome).toBe("done");
    expect(await json("grace", "requests", "list")).toEqual([]);
    await expect.poll(signs, pollOptions).toBe("signed");
    const actions = await json("grace", "actions", "list", "--account", accountId, "--service", "auth");
    expect(actions).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ command: "accounts unfreeze", person: "ada", outcome: "requested" }),
        expect.objectContaining({ command: "accounts unfreeze", person: "grace", outcome: "approved" }),
      ]),
    );
  });

  it("ended sessions are over at once, and the person signs in again", async () => {
    const { client } = person;
    await client.signIn({ login: await logIn(person.email), chainName });
    const { details } = await json("ada", "accounts", "end-sessions", accountId);
    expect(details[0]).toMatch(/^[1-9]\d* sessions ended$/);
    await expect
      .poll(() => problemOf(client.me()).then(({ error }) => error, String), pollOptions)
      .toBe("SessionEnded");
    await client.signIn({ login: await logIn(person.email), chainName });
    expect((await client.me()).id).toBe(accountId);
  });

  it("an account that does not exist is no account to freeze; the refusal is on record", async () => {
    const nobody = unknownId();
    expect(await countersign(stack, "ada", "accounts", "freeze", nobody)).toMatchObject({ code: 2 });
    const actions = await json("ada", "actions", "list", "--account", nobody);
    expect(actions).toContainEqual(
      expect.objectContaining({ service: "auth", command: "accounts freeze", outcome: "AccountNotFound" }),
    );
  });
});

describe("sagas", () => {
  it("an unfinished sign-up is resumed; what is on chain is not cancelled", async () => {
    const other = await signUpPerson();
    const { id } = other.signedUp.account;
    const unfinished = `UPDATE sign_up SET completed_at = NULL, device_registered_at = NULL, lease_until = '9999-01-01'
      WHERE account_id = $1`;
    await query("auth", unfinished, [id]);
    expect(await countersign(stack, "ada", "sign-ups", "cancel", id, "--chain", chainName)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("SignUpOnChain"),
    });
    expect(await countersign(stack, "ada", "person", "erase", id)).toMatchObject({ code: 0 });
    const { details } = await json("ada", "sign-ups", "resume", id, "--chain", chainName);
    expect(details).toEqual(["deployment: deployed"]);
    expect(await query("auth", "SELECT 1 FROM sign_up WHERE account_id = $1 AND completed_at IS NULL", [id])).toEqual(
      [],
    );
    expect(await countersign(stack, "ada", "sign-ups", "resume", id, "--chain", chainName)).toMatchObject({
      stderr: expect.stringContaining("SignUpNotFound"),
    });
    expect((await other.client.me()).id).toBe(id);
  });

  it("a sign-up that the chain refused is cancelled for good, and the person signs up again", async () => {
    const first = await signUpPerson();
    const old = first.signedUp.account.id;
    // As after a creation that failed alone: nothing is on chain.
    await query(
      "auth",
      "UPDATE sign_up SET completed_at = NULL, deployed_at = NULL, lease_until = '9999-01-01' WHERE account_id = $1",
      [old],
    );
    await query("account", "UPDATE deployment SET state = 'failed' WHERE account_id = $1", [old]);
    const { details } = await json("ada", "sign-ups", "cancel", old, "--chain", chainName);
    expect(details).toEqual(["cancelled; the person may sign up again"]);
    expect(await query("account", "SELECT state FROM deployment WHERE account_id = $1", [old])).toEqual([
      { state: "cancelled" },
    ]);
    expect(await count("auth", "identity", old)).toBe(0);
    const { client } = newPhone();
    const again = await client.signUp({ login: await logIn(first.email), chainName });
    expect(again.account.id).not.toBe(old);
  });

  it("a request of a new device is rejected, and resumed only while its outcome is unknown", async () => {
    const { client } = newPhone();
    const device = { name: "New phone", osName: "iOS", type: "mobile" } as const;
    const asked = await client.requestTwoFactor({ login: await logIn(person.email), chainName, device });
    const { id } = asked.twoFactorAuth;
    expect(await countersign(stack, "ada", "key-additions", "resume", accountId, id)).toMatchObject({
      stderr: expect.stringContaining("TwoFactorAuthNotPending"),
    });
    expect(await json("ada", "key-additions", "cancel", accountId, id)).toMatchObject({ status: "rejected" });
    expect((await person.client.twoFactor(id)).status).toBe("rejected");
    expect(await countersign(stack, "ada", "key-additions", "cancel", accountId, id)).toMatchObject({
      stderr: expect.stringContaining("TwoFactorAuthNotPending"),
    });
  });

  it("a rotation that is not there is not resumed", async () => {
    expect(await countersign(stack, "ada", "rotations", "resume", accountId, "--chain", chainName)).toMatchObject({
      stderr: expect.stringContaining("RotationNotFound"),
    });
  });
});

describe("the chain", () => {
  it("balances are those of the chain", async () => {
    const balances = await json("ada", "balances", accountId);
    const owners = balances.map(({ owner }: { owner: string }) => owner);
    expect(owners.sort()).toEqual(["account", "creator", "paymaster"]);
    const paymaster = balances.find(({ owner }: { owner: string }) => owner === "paymaster");
    expect(`0x${paymaster.address}`).toBe(chain.paymaster);
    expect(Number(paymaster.flow)).toBeGreaterThan(0);
  });

  it("an account without drift is silent; each difference is named, and nothing is changed", async () => {
    const other = await signUpPerson();
    const { id } = other.signedUp.account;
    expect(await countersign(stack, "ada", "drift", id)).toMatchObject({ code: 0, stdout: "" });
    const before = await query("key", "SELECT * FROM registration WHERE account_id = $1", [id]);
    await query("key", "UPDATE registration SET key_index = 7 WHERE account_id = $1", [id]);
    await query("signer", "UPDATE binding SET server_key_index = 1 WHERE account_id = $1", [id]);
    const { code, stdout } = await countersign(stack, "ada", "drift", id);
    expect(code).toBe(1);
    expect(stdout).toContain("is not on chain: it signs in and can sign no transaction");
    expect(stdout).toContain("key 1 on chain is not listed here");
    expect(stdout).toContain("is not the server key that the signer uses: its signatures fail");
    await query("signer", "UPDATE binding SET server_key_index = 0 WHERE account_id = $1", [id]);
    await query("key", "UPDATE registration SET key_index = 1 WHERE account_id = $1", [id]);
    expect(await query("key", "SELECT * FROM registration WHERE account_id = $1", [id])).toEqual(before);
    expect(await countersign(stack, "ada", "drift", id)).toMatchObject({ code: 0 });
  });

  it("a key that somebody else put on chain is drift until key has read it", async () => {
    const other = await signUpPerson();
    const { id } = other.signedUp.account;
    const key = newPhone().deviceKey.publicKey;
    const script = `transaction { prepare(a: auth(Keys) &Account) { a.keys.add(
      publicKey: PublicKey(publicKey: "${key}".decodeHex(), signatureAlgorithm: SignatureAlgorithm.ECDSA_P256),
      hashAlgorithm: HashAlgorithm.SHA3_256, weight: 500.0) } }`;
    await runAsOwner(other, script, []);
    const { stdout } = await countersign(stack, "ada", "drift", id, "--json");
    expect(stdout).toContain("somebody else added it");
  });

  it("all accounts are compared in pages, with progress", async () => {
    const first = await countersign(stack, "ada", "drift", "--all", "--limit", "2");
    expect(first.stderr).toContain("key: 2 accounts compared");
    const [, after] = /--after (\S+)/.exec(first.stderr)!;
    const second = await countersign(stack, "ada", "drift", "--all", "--limit", "2", "--after", after!);
    expect(second.stderr).toContain("accounts compared");
    expect(await countersign(stack, "ada", "drift", "--all", accountId)).toMatchObject({ code: 2 });
  });
});

describe("the signer", () => {
  it("its policy is shown, and a file is checked and compared", async () => {
    const { stdout } = await countersign(stack, "ada", "policy", "check");
    expect(stdout).toContain("in effect: script-1/default-1");
    expect(stdout).toContain("gasLimitCap: 9999");
    const policy = JSON.parse(readFileSync("deploy/policy.example.json", "utf8"));
    writeFileSync(place("policy.json"), JSON.stringify({ ...policy, caps: { ...policy.caps, gasLimit: 1234 } }));
    const checked = await json("ada", "policy", "check", place("policy.json"));
    expect(checked.changes).toContain("gasLimitCap: 1234 instead of 9999");
    writeFileSync(place("wrong.json"), JSON.stringify({ ...policy, caps: { gasLimit: -1 } }));
    const wrong = await countersign(stack, "ada", "policy", "check", place("wrong.json"));
    expect(wrong).toMatchObject({ code: 1, stdout: expect.stringContaining("NOT A POLICY: caps.gasLimit") });
    writeFileSync(place("wrong.json"), "{");
    expect(await countersign(stack, "ada", "policy", "check", place("wrong.json"))).toMatchObject({ code: 1 });
  });

  it("explains which rule decides about a message", async () => {
    const [block, key] = await Promise.all([access.latestSealedBlock(), access.accountKey(person.address, 1)]);
    const messageOf = (script: string) =>
      bytesToHex(
        payloadMessage({
          script,
          arguments: [],
          referenceBlockId: block.id,
          gasLimit: 999n,
          proposalKey: { address: person.address, keyId: 1, sequenceNumber: key.sequenceNumber },
          payer: chain.paymaster.replace("0x", ""),
          authorizers: [person.address],
        }),
      );
    const good = await countersign(stack, "ada", "policy", "explain", messageOf(NOTHING), "--chain", chainName);
    expect(good).toMatchObject({ code: 0, stdout: expect.stringContaining("no rule refuses it") });
    const bad = messageOf("transaction { prepare(a: auth(Keys) &Account) {} }");
    expect(await countersign(stack, "ada", "policy", "explain", bad)).toMatchObject({ code: 1 });
  });

  it("its audit log is verified, and exported for an auditor", async () => {
    expect(await countersign(stack, "ada", "audit", "verify")).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/records in \d+ chains[\s\S]*whole/),
    });
    expect(await countersign(stack, "ada", "audit", "export", "--out", place("export"))).toMatchObject({ code: 0 });
    expect(readFileSync(place("export"), "utf8").trimEnd().split("\n").at(-1)).toBe("end");
    expect(statSync(place("export")).mode & 0o777).toBe(0o600);
  });
});

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
    expect(await count("auth", "identity")).toBe(1);
    expect((await json("grace", "requests", "approve", asked.actionId)).outcome).toBe("done");

    for (const table of ["identity", "session", "sign_up", "former_session", "two_factor_sign_in"])
      expect(await count("auth", table), table).toBe(0);
    await expect.poll(() => count("device", "device"), pollOptions).toBe(0);
    await expect.poll(() => count("device", "two_factor"), pollOptions).toBe(0);
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
    expect((await json("grace", "requests", "approve", asked.actionId)).outcome).toBe("done");
    const again = await newPhone().client.signUp({ login: await logIn(person.email), chainName });
    expect(again.account.id).not.toBe(accountId);
  });
});

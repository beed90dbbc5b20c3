import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ServiceName } from "@countersign/build/paths.ts";
import { internalName, systemClock, uuidv7 } from "@countersign/core";
import { tlsFiles } from "@countersign/local-stack/certificates.ts";
import { AdminService as AccountAdmin } from "@countersign/proto/account/v1/admin.ts";
import { AdminService, TermKind } from "@countersign/proto/admin/v1/admin.ts";
import { AdminService as AuthAdmin } from "@countersign/proto/auth/v1/admin.ts";
import { AdminService as DeviceAdmin } from "@countersign/proto/device/v1/admin.ts";
import { AdminService as KeyAdmin } from "@countersign/proto/key/v1/admin.ts";
import { AdminService as SignerAdmin } from "@countersign/proto/signer/v1/admin.ts";
import { createRpcClient, type ServiceDefinition } from "@countersign/rpc";
import { loadTls } from "@countersign/runtime";
import { Client, credentials, Metadata } from "@grpc/grpc-js";
import pg from "pg";
import { beforeAll, describe, expect, it } from "vitest";
import { type AdminName, asAdmin, countersign, reason } from "../support/admin.ts";
import { stack } from "../support/person.ts";
import { send } from "../support/raw-request.ts";
import { afterwards, attackerPhone, idTokenOf, newVictim, type Victim } from "./attacker.ts";
import { stateDir } from "./secrets.ts";
import { query } from "./token-forge.ts";

const SERVICES = ["auth", "device", "key", "account", "signer"] as const;
const OWN: Record<ServiceName, ServiceDefinition> = {
  auth: AuthAdmin,
  device: DeviceAdmin,
  key: KeyAdmin,
  account: AccountAdmin,
  signer: SignerAdmin,
};
const addressOf = (service: ServiceName) => stack.processes[service]!.grpc!;

/** Runs statements as the owner of Postgres, in a service's database. */
async function asSuperuser(service: ServiceName, ...statements: string[]): Promise<void> {
  const url = new URL(stack.postgres);
  url.pathname = new URL(stack.databases[service]!).pathname;
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

let victim: Victim;
beforeAll(async () => {
  victim = await newVictim();
});

const actionsOf = (service: ServiceName, accountId = victim.accountId) =>
  query<{ person: string; command: string; outcome: string }>(
    service,
    "SELECT person, command, outcome FROM admin_action WHERE account_id = $1 ORDER BY id",
    [accountId],
  );

const unary =
  (person: AdminName, request: object) =>
  async (service: ServiceName = "auth") =>
    asAdmin(stack, person, ({ each }) => each[service].describeAccount(request as never));

/** Has the fields of all requests. */
const requestOf = (accountId: string) => ({
  ...{ reason, accountId, chainName: "flow-emulator", requestId: accountId, approve: true },
  ...{ seenAlertId: accountId, twoFactorId: accountId, kind: TermKind.TERM_KIND_ID, term: accountId },
  ...{ beforeId: "", afterAccountId: "", limit: 0, policyJson: "", message: Buffer.alloc(0) },
});

/** Calls each method of each Admin service with a certificate; returns the reasons of the refusals. */
async function callAll(certificate: string, token?: string): Promise<string[]> {
  const tls = loadTls(tlsFiles(stateDir, certificate));
  const reasons: string[] = [];
  for (const service of SERVICES) {
    for (const definition of [AdminService, OWN[service]]) {
      const options = { address: addressOf(service), tls, serverName: service, deadlineMs: 5_000 };
      const client = createRpcClient(definition as ServiceDefinition, options);
      for (const [name, method] of Object.entries(definition)) {
        const answer = (client as unknown as Record<string, (...args: unknown[]) => unknown>)[name]!(
          requestOf(victim.accountId),
          { token },
        );
        const done = method.responseStream ? drain(answer as AsyncIterable<unknown>) : (answer as Promise<unknown>);
        reasons.push(
          await done.then(
            () => `${service} ${name} answered`,
            ({ reason: refusal }) => refusal,
          ),
        );
      }
      client.close();
    }
  }
  return reasons;
}

async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

describe("nobody but an administrator calls Admin", () => {
  it.each(["gateway", "auth", "device", "key", "account", "signer", "demo-backend", "operator"])("%s", async (name) => {
    const reasons = await callAll(name, victim.client.credentials!.accessToken);
    expect(reasons.length).toBeGreaterThan(35);
    expect(new Set(reasons)).toEqual(new Set(["CallerNotAllowed"]));
    for (const service of SERVICES) expect(await actionsOf(service)).toEqual([]);
  });

  it("a connection without a certificate", async () => {
    const channel = credentials.createSsl(readFileSync(tlsFiles(stateDir, "ca").ca));
    const client = new Client(addressOf("auth"), channel, { "grpc.ssl_target_name_override": internalName("auth") });
    const { path, requestSerialize, responseDeserialize } = AuthAdmin.holdAccount;
    const request = { reason, accountId: victim.accountId };
    const error = await new Promise((resolve) => {
      const deadline = { deadline: Date.now() + 3_000 };
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, deadline, resolve);
    });
    client.close();
    expect(error).not.toBeNull();
  });

  it("a user, through the gateway", async () => {
    const token = victim.client.credentials!.accessToken;
    for (const path of ["/admin/v1/accounts", "/auth.v1.Admin/HoldAccount", "/admin.v1.Admin/FindAccounts"]) {
      expect((await send({ method: "POST", path, token, body: { reason } })).status).toBe(404);
    }
    const { paths } = (await send({ method: "GET", path: "/openapi.json" })).body as { paths: object };
    expect(Object.keys(paths).filter((path) => /admin/i.test(path))).toEqual([]);
  });
});

describe("the person and the reason", () => {
  it.each([
    ["none", ""],
    ["too short", "because"],
    ["blanks", " ".repeat(40)],
    ["too long", "x".repeat(501)],
    ["with control characters", "a ticket\u001b[2J of today"],
    ["with an e-mail address", "ada@example.com has asked for it"],
  ])("a command with a reason that is %s is refused, and changes nothing", async (_, wrong) => {
    const { accountId } = victim;
    const refused = { reason: "InvalidRequest" };
    for (const service of SERVICES)
      await expect(unary("ada", { reason: wrong, accountId })(service)).rejects.toMatchObject(refused);
    await asAdmin(stack, "ada", async ({ auth, signer, key }) => {
      await expect(auth.holdAccount({ reason: wrong, accountId })).rejects.toMatchObject(refused);
      await expect(auth.endSessions({ reason: wrong, accountId })).rejects.toMatchObject(refused);
      await expect(drain(signer.exportAudit({ reason: wrong }))).rejects.toMatchObject(refused);
      const page = { reason: wrong, accountId, afterAccountId: "", limit: 0 };
      await expect(drain(key.compareKeys(page))).rejects.toMatchObject(refused);
    });
    for (const service of SERVICES) expect(await actionsOf(service)).toEqual([]);
    expect(await query("auth", "SELECT 1 FROM account_hold WHERE account_id = $1", [accountId])).toEqual([]);
  });

  it("a person in the metadata is ignored: the certificate's is recorded", async () => {
    const { ca, cert, key } = loadTls(tlsFiles(stateDir, "admin-ada"));
    const client = new Client(addressOf("key"), credentials.createSsl(ca, key, cert), {
      "grpc.ssl_target_name_override": internalName("key"),
      "grpc.default_authority": internalName("key"),
    });
    const metadata = new Metadata();
    for (const name of ["person", "x-person", "x-admin", "x-forwarded-client-cert", "x-client-ip", "authorization"])
      metadata.set(name, "countersign:person:grace");
    const { path, requestSerialize, responseDeserialize } = AdminService.describeAccount;
    const request = { reason, accountId: victim.accountId };
    const error = await new Promise((resolve) => {
      const deadline = { deadline: Date.now() + 5_000 };
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, metadata, deadline, resolve);
    });
    client.close();
    expect(error).toBeNull();
    expect(await actionsOf("key")).toEqual([{ person: "ada", command: "describe", outcome: "read" }]);
  });

  it("a read whose record cannot be written is refused", async () => {
    const role = new URL(stack.databases.device!).username;
    const table = `admin_action`;
    const accountId = uuidv7(systemClock);
    await asSuperuser("device", `REVOKE INSERT ON ${table} FROM ${role}`);
    try {
      await expect(unary("ada", { reason, accountId })("device")).rejects.toMatchObject({ reason: "Internal" });
    } finally {
      await asSuperuser("device", `GRANT INSERT ON ${table} TO ${role}`);
    }
    await unary("ada", { reason, accountId })("device");
    expect(await actionsOf("device", accountId)).toHaveLength(1);
  });

  it.each(SERVICES)("%s cannot change its record", async (service) => {
    await unary("ada", { reason, accountId: victim.accountId })(service);
    for (const change of ["UPDATE admin_action SET reason = 'x'", "DELETE FROM admin_action", "TRUNCATE admin_action"])
      await expect(query(service, change)).rejects.toThrow(/permission denied/);
  });
});

describe("two persons", () => {
  const hold = () => asAdmin(stack, "ada", ({ auth }) => auth.holdAccount({ reason, accountId: victim.accountId }));
  const askToLift = (person: AdminName, seenAlertId: string) =>
    asAdmin(stack, person, async ({ auth }) => {
      const { outcome } = await auth.liftHolds({ reason, accountId: victim.accountId, seenAlertId });
      return outcome!;
    });
  const decide = (person: AdminName, requestId: string, approve = true) =>
    asAdmin(stack, person, async ({ auth }) => (await auth.decideRequest({ reason, requestId, approve })).outcome!);
  const isHeld = async () => {
    const rows = await query("auth", "SELECT 1 FROM account_hold WHERE account_id = $1 AND lifted_at IS NULL", [
      victim.accountId,
    ]);
    return rows.length > 0;
  };

  it("freezing needs one; unfreezing has no effect until another one approves", async () => {
    const { outcome } = await hold();
    expect(outcome).toMatchObject({ outcome: "done" });
    expect(await isHeld()).toBe(true);
    const asked = await askToLift("ada", outcome!.actionId);
    expect(asked.outcome).toBe("requested");
    expect(await isHeld()).toBe(true);
    await expect(decide("ada", asked.actionId)).rejects.toMatchObject({ reason: "SecondPersonRequired" });
    expect(await isHeld()).toBe(true);
    expect((await decide("grace", asked.actionId)).details).toEqual([expect.stringContaining("lifted")]);
    expect(await isHeld()).toBe(false);
    await expect(decide("grace", asked.actionId)).rejects.toMatchObject({ reason: "AdminRequestNotFound" });
  });

  it("of many approvals at once one acts", async () => {
    const { actionId } = (await hold()).outcome!;
    const asked = await askToLift("ada", actionId);
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => decide("grace", asked.actionId)));
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const decisions = "SELECT outcome FROM admin_action WHERE request_id = $1";
    expect(await query("auth", decisions, [asked.actionId])).toEqual([{ outcome: "approved" }]);
  });

  it("a request that was rejected, also by its own person, is never approved", async () => {
    const { actionId } = (await hold()).outcome!;
    const asked = await askToLift("ada", actionId);
    await decide("ada", asked.actionId, false);
    await expect(decide("grace", asked.actionId)).rejects.toMatchObject({ reason: "AdminRequestNotFound" });
    expect(await isHeld()).toBe(true);
  });

  it("a request ends after 24 hours", async () => {
    const asked = await askToLift("ada", uuidv7(systemClock));
    await asSuperuser("auth", `UPDATE admin_action SET at = at - interval '24 hours' WHERE id = '${asked.actionId}'`);
    await expect(decide("grace", asked.actionId)).rejects.toMatchObject({ reason: "AdminRequestNotFound" });
    expect(await isHeld()).toBe(true);
  });

  it("no action but a request can be approved", async () => {
    const { actionId } = (await hold()).outcome!;
    await expect(decide("grace", actionId)).rejects.toMatchObject({ reason: "AdminRequestNotFound" });
    const [last] = await query<{ alert_id: string }>(
      "auth",
      "SELECT alert_id FROM account_hold WHERE lifted_at IS NULL ORDER BY placed_at DESC",
    );
    await decide("grace", (await askToLift("ada", last!.alert_id)).actionId);
    expect(await isHeld()).toBe(false);
  });
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
    const { tables } = await unary("ada", { reason, accountId: victim.accountId })("auth");
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
      shown.push(JSON.stringify(await unary("ada", { reason, accountId: victim.accountId })(service)));
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

import { readFileSync } from "node:fs";
import { SERVICES } from "@countersign/admin/services.ts";
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
import { beforeAll, describe, expect, it } from "vitest";
import { asAdmin, reason } from "../support/admin.ts";
import { stack } from "../support/person.ts";
import { send } from "../support/raw-request.ts";
import { actionsOf, asSuperuser, describeAccount, drain } from "./administrators.ts";
import { afterwards, newVictim, type Victim } from "./attacker.ts";
import { stateDir } from "./secrets.ts";
import { query } from "./token-forge.ts";

const OWN: Record<ServiceName, ServiceDefinition> = {
  auth: AuthAdmin,
  device: DeviceAdmin,
  key: KeyAdmin,
  account: AccountAdmin,
  signer: SignerAdmin,
};
const addressOf = (service: ServiceName) => stack.processes[service]!.grpc!;

let victim: Victim;
beforeAll(async () => {
  victim = await newVictim();
});

/** Has the fields of all requests. */
const requestOf = (accountId: string) => ({
  ...{ reason, accountId, chainName: "flow-emulator", requestId: accountId, approve: true },
  ...{ seenAlertId: accountId, twoFactorId: accountId, kind: TermKind.TERM_KIND_ID, term: accountId },
  ...{ beforeId: "", afterAccountId: "", limit: 0, policyJson: "", message: Buffer.alloc(0) },
  ...{ before: "", sequence: 1n, sha256: "ab".repeat(32) },
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

describe("nobody but an administrator calls Admin", () => {
  it.each(["gateway", "auth", "device", "key", "account", "signer", "demo-backend", "operator"])("%s", async (name) => {
    const reasons = await callAll(name, victim.client.credentials!.accessToken);
    expect(reasons.length).toBeGreaterThan(35);
    expect(new Set(reasons)).toEqual(new Set(["CallerNotAllowed"]));
    for (const service of SERVICES) expect(await actionsOf(service, victim.accountId)).toEqual([]);
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
      await expect(describeAccount(service, { reason: wrong, accountId })).rejects.toMatchObject(refused);
    await asAdmin(stack, "ada", async ({ auth, signer, key }) => {
      await expect(auth.holdAccount({ reason: wrong, accountId })).rejects.toMatchObject(refused);
      await expect(auth.endSessions({ reason: wrong, accountId })).rejects.toMatchObject(refused);
      await expect(drain(signer.exportAudit({ reason: wrong, before: "" }))).rejects.toMatchObject(refused);
      const page = { reason: wrong, accountId, afterAccountId: "", limit: 0 };
      await expect(drain(key.compareKeys(page))).rejects.toMatchObject(refused);
    });
    for (const service of SERVICES) expect(await actionsOf(service, victim.accountId)).toEqual([]);
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
    expect(await actionsOf("key", victim.accountId)).toEqual([{ person: "ada", command: "describe", outcome: "read" }]);
  });

  it("a read whose record cannot be written is refused", async () => {
    const role = new URL(stack.databases.device!).username;
    const table = `admin_action`;
    const accountId = uuidv7(systemClock);
    await asSuperuser("device", `REVOKE INSERT ON ${table} FROM ${role}`);
    try {
      await expect(describeAccount("device", { reason, accountId })).rejects.toMatchObject({ reason: "Internal" });
    } finally {
      await asSuperuser("device", `GRANT INSERT ON ${table} TO ${role}`);
    }
    await describeAccount("device", { reason, accountId });
    expect(await actionsOf("device", accountId)).toHaveLength(1);
  });

  it.each(SERVICES)("%s cannot change its record", async (service) => {
    await describeAccount(service, { reason, accountId: victim.accountId });
    for (const change of ["UPDATE admin_action SET reason = 'x'", "DELETE FROM admin_action", "TRUNCATE admin_action"])
      await expect(query(service, change)).rejects.toThrow(/permission denied/);
  });
});

afterwards();

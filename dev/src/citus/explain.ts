import { createHash, randomBytes, randomUUID } from "node:crypto";
import { openPostgres } from "@countersign/postgres";
import pg from "pg";
import { PrismaClient as AccountPrisma } from "../../../services/account/src/store/generated/client.ts";
import { postgresAccountStore } from "../../../services/account/src/store/postgres-account-store.ts";
import {
  ensureProposalKeys,
  postgresCreationStore,
} from "../../../services/account/src/store/postgres-creation-store.ts";
import type { Session } from "../../../services/auth/src/domain/sessions/session.ts";
import { PrismaClient as AuthPrisma } from "../../../services/auth/src/store/generated/client.ts";
import { createCounter } from "../../../services/auth/src/store/limits.ts";
import { postgresBlockedKeyStore } from "../../../services/auth/src/store/postgres-blocked-key-store.ts";
import { postgresChallengeStore } from "../../../services/auth/src/store/postgres-challenge-store.ts";
import { postgresSessionStore } from "../../../services/auth/src/store/postgres-session-store.ts";
import { postgresSignUpStore } from "../../../services/auth/src/store/postgres-sign-up-store.ts";
import { PrismaClient as DevicePrisma } from "../../../services/device/src/store/generated/client.ts";
import { postgresDeliveryStore } from "../../../services/device/src/store/postgres-delivery-store.ts";
import { postgresDeviceStore } from "../../../services/device/src/store/postgres-device-store.ts";
import { PrismaClient as KeyPrisma } from "../../../services/key/src/store/generated/client.ts";
import { postgresKeyStore } from "../../../services/key/src/store/postgres-key-store.ts";
import { PrismaClient as SignerPrisma } from "../../../services/signer/src/store/generated/client.ts";
import { postgresAuditStore } from "../../../services/signer/src/store/postgres-audit-store.ts";
import { postgresBindingStore } from "../../../services/signer/src/store/postgres-binding-store.ts";
import { postgresSignedCreations } from "../../../services/signer/src/store/postgres-signed-creations.ts";
import { prismaEffectStore } from "../../../services/signer/src/store/prisma-effect-store.ts";
import { onTemporaryCitus } from "./temporary.ts";

/** Commands that belong to a transaction or to the results between parts of a statement, not to a shard. */
const FRAME =
  /^(BEGIN|COMMIT|ROLLBACK|PREPARE|SAVEPOINT|RELEASE|SET |DEALLOCATE|COPY "\d|WITH placement_data|SELECT pg_catalog\.citus)/i;
const COMMAND = /^(?:issuing|executing the command locally:) ?/;

/** Returns to how many shards each command went. */
function countTasks(notices: readonly string[]): Map<string, number> {
  const shards = new Map<string, Set<string>>();
  for (const notice of notices) {
    if (!COMMAND.test(notice)) continue;
    const text = notice.replace(COMMAND, "").trim();
    if (FRAME.test(text)) continue;
    const command = text.replace(/_\d{6,}\b/g, "").replace(/\s+/g, " ");
    const known = shards.get(command) ?? new Set();
    shards.set(command, known.add(text));
  }
  return new Map(Array.from(shards, ([command, texts]) => [command, texts.size]));
}

/**
 * `explain`: runs what each sign-in, refresh, signature and account read does to the databases, by the
 * services' own code, and lets Citus say which command it sends where. Fails where a command goes to several
 * shards.
 */
export async function explain(): Promise<number> {
  const notices: string[] = [];
  const { emit } = pg.Client.prototype;
  pg.Client.prototype.emit = function (this: pg.Client, event: string, ...args: unknown[]) {
    if (event === "notice") notices.push((args[0] as { message: string }).message);
    return (emit as (event: string, ...args: unknown[]) => boolean).call(this, event, ...args);
  } as typeof emit;
  return onTemporaryCitus(async (citus) => {
    const options = "-c citus.log_remote_commands=on -c citus.log_local_commands=on -c client_min_messages=notice";
    const open = (service: Parameters<typeof citus.urlOf>[0]) =>
      openPostgres(`${citus.urlOf(service)}?options=${encodeURIComponent(options)}`);
    const [auth, device, key, account, signer] = (["auth", "device", "key", "account", "signer"] as const).map(open);
    const authPrisma = new AuthPrisma({ adapter: auth!.adapter });
    const signerPrisma = new SignerPrisma({ adapter: signer!.adapter });
    const bindings = postgresBindingStore(signer!);
    const effects = prismaEffectStore(signerPrisma, bindings);
    const challenges = postgresChallengeStore(auth!);
    const sessions = postgresSessionStore(authPrisma, auth!);
    const keys = postgresKeyStore(new KeyPrisma({ adapter: key!.adapter }), key!);
    const devicePrisma = new DevicePrisma({ adapter: device!.adapter });
    const devices = postgresDeviceStore(devicePrisma, device!);
    const deliveries = postgresDeliveryStore(devicePrisma, device!);
    const accountPrisma = new AccountPrisma({ adapter: account!.adapter });
    const accounts = postgresAccountStore(accountPrisma, account!);
    await ensureProposalKeys(accountPrisma, "flow", 1);
    const creations = postgresCreationStore(account!, { transactionUrl: () => "" });
    const signedCreations = postgresSignedCreations(signer!);
    const signUps = postgresSignUpStore(authPrisma, auth!);
    const blockedKeys = postgresBlockedKeyStore(auth!);
    const audit = postgresAuditStore(signer!);
    const count = createCounter(auth!);

    const now = new Date();
    const later = new Date(now.getTime() + 3_600_000);
    const accountId = randomUUID();
    const publicKey = { algorithm: "ES256", publicKey: randomBytes(64).toString("hex") } as const;
    const app = { appId: "app", appName: "App" };
    const session = (): Session => ({
      id: randomUUID(),
      accountId,
      app,
      deviceKey: publicKey,
      accountKey: publicKey,
      authTime: now,
      createdAt: now,
      lastUsedAt: now,
      expiresAt: later,
      refreshId: randomUUID(),
      refreshExpiresAt: later,
      previousRefreshId: undefined,
      rotatedAt: undefined,
      proofRequired: false,
      scope: "full",
    });
    const challenge = {
      data: randomBytes(16).toString("hex"),
      type: "device-key" as const,
      accountId,
      chainName: "flow",
      app,
      signer: publicKey,
      key: undefined,
      authTime: now,
      expiresAt: later,
    };
    const [first, second] = [session(), session()];
    await sessions.begin(session(), "");
    await sessions.end(accountId, { allBut: randomUUID() }, "signed-out", now, "");
    const chainId = randomUUID();
    const start = createHash("sha256").update(chainId).digest("hex");
    await audit.startChain({ chainId, sequence: 0n, hash: start }, now, { text: "", signature: "" });
    const record = {
      ...{ time: now, caller: "account", accountId, sessionId: first.id, operation: "transaction", chainName: "flow" },
      ...{ messageHash: start, scriptHash: start, verdict: "signed", policyVersion: "1", keyVersion: 1 },
      ...{ chainId, sequence: 1n, previousHash: start, text: "[]", hash: start },
    } as unknown as Parameters<typeof audit.commit>[1]["records"][number];
    const window = { id: "service//3600/1", endsAt: later, limits: { count: 10 } };
    const reservation = {
      ...{ chainName: "flow", proposal: "0x1/0/1", referenceBlock: "b" },
      ...{ amounts: { count: 1, computation: 1, fees: 1 }, windows: [window] },
    };
    const number = { number: 1n, sessionId: first.id, limit: 5, openSince: now, unfrozenAt: undefined };
    const binding = { accountId, chainName: "flow", address: "0x1", serverKeyIndex: 1, serverKeyVersion: 1 };

    const osAndModel = { osName: "", osVersion: "", deviceManufacturer: "", deviceModel: "" };
    const attributes = { ...osAndModel, pushToken: "", name: "", lang: "", type: "mobile", sdkVersion: "" } as const;
    const times = { createdAt: now, lastUsedAt: now };
    const phone = { id: randomUUID(), accountId, publicKey, attributes, ...times, removedAt: null };
    const keyPair = { type: "device", accountKey: publicKey, deviceKey: publicKey, keyIndex: 1 } as const;
    const origin = { chainName: "flow", app, name: "", origin: "sign-up" } as const;
    const only = { kind: "user", weight: 0, cloudAccountName: "", pendingUntil: null, alertAt: null } as const;
    const registration = {
      ...only,
      id: randomUUID(),
      accountId,
      ...keyPair,
      ...origin,
      ...times,
      revokedAt: null,
    };
    const profile = { issuer: "https://login.example", subject: randomUUID(), email: "", name: "", picture: "", app };
    const signingUp = {
      ...{ profile: { ...profile, authTime: now }, chainName: "flow", app, device: attributes },
      ...{
        accountKey: publicKey,
        deviceKey: publicKey,
        deviceId: phone.id,
        newAccountId: accountId,
        leaseUntil: later,
      },
      ...{ profileImageUrl: "", sessionId: randomUUID(), session: undefined, idempotency: undefined, now },
      userKeyType: "device" as const,
    };
    const saga = { ...signingUp, accountId, createdAt: now, done: new Set<never>() };
    const deployment = { accountId, chainName: "flow", userKey: publicKey, profileImageUrl: "" };
    const lease = { owner: randomUUID(), now };
    // The queue is read from all shards: no account is known yet.
    await accounts.queue(deployment, now);
    const creation = await creations.assign("flow", { ...lease, until: later });
    const creating = { chainName: "flow", serverKeyVersion: 1 };
    const owner = { accountId, userKey: publicKey };
    const bytes = {
      ...{ transaction: { gasLimit: 1n, proposalKey: { address: "", keyId: 0, sequenceNumber: 1n } } as never },
      ...{ transactionId: "", sequenceNumber: 1n, referenceHeight: 1n, serverKeys: [""], serverKeyVersion: 1 },
    };
    const created = { accountId, address: "02", evmAddress: "0x02", serverKeyIndex: 0 };
    const notice = { eventId: randomUUID(), accountId, kind: "new-sign-in", at: now, since: new Date(0), limit: 20 };
    const mail = { ...notice, target: "email" };
    const happened = { now, occurredAt: now, requestId: "" };

    const hot: readonly (readonly [string, () => Promise<unknown>])[] = [
      ["sign-up: lease", () => signUps.lease(signingUp, () => ({ kind: "begin" }))],
      ["sign-up: queue the deployment", () => accounts.queue({ ...deployment, accountId: randomUUID() }, now)],
      ["sign-up: the signer's record", () => signedCreations.record({ ...creating, accounts: [owner] }, now)],
      ["sign-up: commit the bytes", () => creations.signed(creation!.id, lease.owner, bytes)],
      ["sign-up: may it be bound?", () => signedCreations.has({ accountId, chainName: "flow" }, 1)],
      ["sign-up: bind it", () => bindings.insert({ ...binding, address: "0x2" }, happened)],
      ["sign-up: seal it", () => creations.sealed(creation!.id, lease.owner, [created], { evmChainId: 1, now })],
      ["sign-up: mark", () => signUps.mark(saga, ["DeployAccount", "RegisterKey", "RegisterDevice"], now)],
      ["sign-up: the key", () => keys.insertFirst({ type: "key-registered", registration, ...happened })],
      ["sign-up: the device", () => devices.insertFirst({ type: "device-registered", device: phone, ...happened })],
      ["login: the account of an identity", () => signUps.accountOf("https://login.example", "a subject")],
      ["sign-in: count the address", () => count({ key: "challenge:127.0.0.1", points: 10, seconds: 60 })],
      ["sign-in: blocked keys", () => blockedKeys.blockedKeys(accountId, now)],
      ["sign-in: the key", () => keys.findByKey(accountId, "flow", publicKey)],
      ["sign-in: issue the challenge", () => challenges.insert(challenge)],
      ["sign-in: find the challenge", () => challenges.find(challenge.data)],
      ["sign-in: begin the session", () => challenges.succeed(challenge.data, first, "", undefined)],
      ["sign-in: the last use of the key", () => keys.touch(accountId, publicKey, now)],
      ["sign-in: the last use of the device", () => devices.touch(accountId, publicKey, now)],
      ["sign-in: begin the notice", () => deliveries.begin(notice)],
      ["sign-in: the devices of the notice", () => devices.listLive(accountId)],
      ["sign-in: was it mailed?", () => deliveries.has(mail)],
      ["sign-in: it was", () => deliveries.note(mail)],
      ["sign-in: of a device that has a session", () => sessions.begin(second, "")],
      ["refresh", () => sessions.update(second, (next) => ({ next, result: true }), now, "")],
      ["account/me", () => accounts.find(accountId, "flow")],
      ["sign: bindings", () => bindings.findCurrent(accountId)],
      ["sign: effects", () => effects.record(binding as never, [{ kind: "sequence-number", ...number }], now)],
      [
        "sign: budgets and the audit record",
        () =>
          audit.commit(
            { chainId, sequence: 0n, hash: start },
            { records: [record], signature: Buffer.alloc(64) },
            { counted: { minute: now, counts: new Map([[accountId, 1]]), limit: 10 }, reservations: [reservation] },
          ),
      ],
    ];
    let failed = 0;
    for (const [name, work] of hot) {
      notices.length = 0;
      await work();
      const tasks = [...countTasks(notices)];
      const most = Math.max(0, ...tasks.map(([, times]) => times));
      console.log(`${most === 1 ? "ok  " : "FAIL"} ${name}: ${tasks.length} statements, Task Count ${most}`);
      if (most === 1) continue;
      failed += 1;
      for (const [command, times] of tasks) if (times > 1) console.log(`       ${times} × ${command.slice(0, 200)}`);
      if (tasks.length === 0)
        console.log(`       no command was seen: ${notices.slice(0, 3).join(" | ").slice(0, 300)}`);
    }
    await Promise.all([auth, device, key, account, signer].map((each) => each!.close()));
    return failed === 0 ? 0 : 1;
  });
}

import { type ServiceName, services } from "@countersign/build/paths.ts";
import { type Clock, unchanging } from "@countersign/core";
import type { Postgres } from "@countersign/postgres";
import { createLogger } from "@countersign/runtime";
import { deleteExpiredRows as deleteOfAccount } from "../../services/account/src/store/delete-expired-rows.ts";
import { PrismaClient as AccountPrisma } from "../../services/account/src/store/generated/client.ts";
import { postgresCreationStore } from "../../services/account/src/store/postgres-creation-store.ts";
import { prismaServerKeyRotationStore } from "../../services/account/src/store/prisma-server-key-rotation-store.ts";
import { finishAbandonedSignUps } from "../../services/auth/src/jobs/finish-abandoned-sign-ups.ts";
import { deleteExpiredRows as deleteOfAuth } from "../../services/auth/src/store/delete-expired-rows.ts";
import { PrismaClient as AuthPrisma } from "../../services/auth/src/store/generated/client.ts";
import { postgresSignUpStore } from "../../services/auth/src/store/postgres-sign-up-store.ts";
import { postgresTokenStateStore } from "../../services/auth/src/store/postgres-token-state-store.ts";
import { prismaTokenKeyStore } from "../../services/auth/src/store/prisma-token-key-store.ts";
import { createTokenKeys } from "../../services/auth/src/tokens/token-keys.ts";
import { sweepTwoFactor } from "../../services/device/src/jobs/two-factor-sweeper.ts";
import { PrismaClient as DevicePrisma } from "../../services/device/src/store/generated/client.ts";
import { postgresDeliveryStore } from "../../services/device/src/store/postgres-delivery-store.ts";
import { prismaTwoFactorStore } from "../../services/device/src/store/prisma-two-factor-store.ts";
import { emitUnregisteredKeys } from "../../services/key/src/domain/emit-unregistered-keys.ts";
import { PrismaClient as KeyPrisma } from "../../services/key/src/store/generated/client.ts";
import { postgresKeyStore } from "../../services/key/src/store/postgres-key-store.ts";
import { deleteExpiredRows as deleteOfSigner } from "../../services/signer/src/store/delete-expired-rows.ts";
import { PrismaClient as SignerPrisma } from "../../services/signer/src/store/generated/client.ts";
import { commonBudgetUse } from "../../services/signer/src/store/postgres-budget-usage.ts";
import { prismaSettlementStore } from "../../services/signer/src/store/prisma-settlement-store.ts";

const DAY_MS = 24 * 3_600_000;
const CHAIN = "flow-mainnet";

/** The databases of all services. */
export type Databases = Readonly<Record<ServiceName, Postgres>>;

/** Returns the same database, with the milliseconds of each statement given to `note`. */
function timed(postgres: Postgres, note: (ms: number) => void): Postgres {
  const measure = async <T>(work: Promise<T>): Promise<T> => {
    const began = performance.now();
    try {
      return await work;
    } finally {
      note(performance.now() - began);
    }
  };
  return {
    ...postgres,
    query: (statement) => measure(postgres.query(statement)),
    execute: (statement) => measure(postgres.execute(statement)),
  };
}

/** A job of the services; it returns true while it has more to do. */
export type Jobs = Readonly<Record<string, () => Promise<unknown>>>;

/**
 * Creates one run of each periodic job, but for the audit log's. Jobs that talk to a chain are here with the
 * statements that find their work: what they do then follows that work and not the tables.
 */
export function createYearJobs(databases: Databases, clock: Clock, note: (ms: number) => void) {
  const logger = createLogger({ name: "year", level: "silent" });
  const log = [{ emit: "event", level: "query" }] as const;
  const observe = <C extends { $on(event: "query", listen: (query: { duration: number }) => void): unknown }>(
    client: C,
  ) => {
    client.$on("query", ({ duration }) => note(duration));
    return client;
  };
  const options = (name: keyof Databases) => ({ adapter: databases[name].adapter, log: [...log] });
  const prisma = {
    auth: observe(new AuthPrisma(options("auth"))),
    device: observe(new DevicePrisma(options("device"))),
    key: observe(new KeyPrisma(options("key"))),
    account: observe(new AccountPrisma(options("account"))),
    signer: observe(new SignerPrisma(options("signer"))),
  };
  const postgres = Object.fromEntries(services.map((name) => [name, timed(databases[name], note)])) as Databases;
  const ago = (days: number) => new Date(clock.now().getTime() - days * DAY_MS);
  const lease = () => ({ owner: crypto.randomUUID(), now: clock.now(), until: clock.now() });
  const unexpected = (): never => {
    throw new Error("the traffic has nothing for this step");
  };

  const signUps = postgresSignUpStore(prisma.auth, postgres.auth);
  const steps = { deployAccount: unexpected, registerKey: unexpected, registerDevice: unexpected };
  const tokenKeys = createTokenKeys({
    store: prismaTokenKeyStore(prisma.auth),
    keyring: unchanging<[Buffer]>([Buffer.alloc(32, 7)]),
    clock,
    periodMs: 28 * DAY_MS,
  });
  const tokenState = postgresTokenStateStore(postgres.auth);
  const requests = prismaTwoFactorStore(prisma.device);
  const deliveries = postgresDeliveryStore(prisma.device, postgres.device);
  const keyAdditions = { prepare: unexpected, submit: unexpected, reconcile: unexpected, verify: unexpected };
  const keys = postgresKeyStore(prisma.key, postgres.key);
  const creations = postgresCreationStore(postgres.account, { transactionUrl: unexpected });
  const rotations = prismaServerKeyRotationStore(prisma.account);
  const settlements = prismaSettlementStore(prisma.signer);
  const abandoned = finishAbandonedSignUps({ store: signUps, steps, clock, logger });

  const jobs: Jobs = {
    "auth: housekeeping": () => deleteOfAuth(postgres.auth)(clock.now()),
    "auth: token keys": () => tokenKeys.rotate(),
    "auth: token state": async () => tokenState.readPage(await tokenState.readPositions(), undefined),
    "auth: abandoned sign-ups": () => abandoned(new AbortController().signal),
    "device: two-factor sweep": sweepTwoFactor({ requests, keyAdditions: keyAdditions as never, clock, logger }),
    "device: forget requests": () => requests.forget(ago(30)),
    "device: forget deliveries": () => deliveries.forgetDeliveries(ago(8)),
    "key: unregistered keys": emitUnregisteredKeys({ store: keys, clock }),
    "account: housekeeping": () => deleteOfAccount(postgres.account)(clock.now()),
    "account: creations": async () => {
      if ((await creations.assign(CHAIN, lease())) ?? (await creations.takeOver(lease()))) unexpected();
    },
    "account: server key rotations": () => rotations.open(CHAIN, 50),
    "signer: housekeeping": () => deleteOfSigner(postgres.signer)(clock.now()),
    "signer: budget metrics": () => commonBudgetUse(postgres.signer, clock.now()),
    "signer: budget settlement": async () => {
      const { mark } = await settlements.begin(CHAIN);
      await settlements.see(CHAIN, mark, 1n);
      await settlements.release(CHAIN, 1n, 0);
    },
  };
  return {
    jobs,
    signer: prisma.signer,
    close: () => Promise.all(Object.values(prisma).map((each) => each.$disconnect())),
  };
}

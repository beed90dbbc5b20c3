import { accountsAfter, adminHandlers, createActionLog, onPersonErased } from "@countersign/admin-actions";
import { asPort, uuidv7 } from "@countersign/core";
import { AccountKeysService } from "@countersign/proto/account/v1/account_keys.ts";
import { AdminService } from "@countersign/proto/admin/v1/admin.ts";
import { DevicesService } from "@countersign/proto/device/v1/devices.ts";
import { AdminService as KeyAdminService } from "@countersign/proto/key/v1/admin.ts";
import { KeysService } from "@countersign/proto/key/v1/keys.ts";
import { createServiceRuntime, runService, type ServiceProcess } from "@countersign/runtime";
import { chainDirectory } from "./clients/chain-directory.ts";
import { deviceDirectory } from "./clients/device-directory.ts";
import { loadConfig } from "./config.ts";
import { emitUnregisteredKeys } from "./domain/emit-unregistered-keys.ts";
import { followChain } from "./domain/follow-chain.ts";
import { RECOVERED_KEYS } from "./domain/register-key.ts";
import { repairOnRead } from "./jobs/repair-on-read.ts";
import { keyAdminHandlers } from "./rpc/admin.ts";
import { keysHandlers } from "./rpc/keys.ts";
import { erasePerson, keyReadings } from "./store/account-readings.ts";
import { PrismaClient } from "./store/generated/client.ts";
import { postgresKeyStore } from "./store/postgres-key-store.ts";
import { onAccountKeysChanged } from "./subscribers/account-keys-changed.ts";

/** The registration of a recovery key reads the chain twice within its deadline of 8 s. */
const REGISTRATION_CHAIN_READ_MS = 3_500;
const UNREGISTERED_KEYS_MS = 1_000;
/** Milliseconds: they wait for the chain. */
const DEADLINES = { "key.v1.Keys/RegisterRecoveryKey": 8_000, "key.v1.Keys/ReportRevocation": 8_000 };

async function start(service: ServiceProcess) {
  const config = loadConfig(service.env, service.files);
  const runtime = createServiceRuntime(service, config);
  const { clock, logger } = runtime;
  const newId = () => uuidv7(clock);

  const { prisma, postgres } = await runtime.database(PrismaClient);
  const store = asPort("keys", postgresKeyStore(prisma, postgres));
  const tokenState = runtime.watchTokenState();
  const devices = deviceDirectory(runtime.client(DevicesService, "device"));
  const account = runtime.client(AccountKeysService, "account");

  const followOn = (chain: ReturnType<typeof chainDirectory>) =>
    followChain({ store, chain, clock, newId, alertAfterMs: config.alertAfterMs });
  const chain = chainDirectory(account);
  const follow = followOn(chain);
  const registrationChain = chainDirectory(account, REGISTRATION_CHAIN_READ_MS);
  const registration = { chain: registrationChain, follow: followOn(registrationChain) };
  const onProblem = (err: unknown) => logger.warn({ err }, "answered with stored keys: the chain could not be read");
  const repair = repairOnRead(follow, onProblem);

  runtime.consume({
    durable: "key-account-keys-changed",
    concurrency: 10,
    handler: onAccountKeysChanged(follow),
  });
  runtime.consume({ durable: "key-person-erased", handler: onPersonErased(erasePerson(postgres)) });
  runtime.every(UNREGISTERED_KEYS_MS, "unregistered keys", emitUnregisteredKeys({ store, clock }));

  const { maxUserKeys, reportsPerMinute } = config;
  const actions = createActionLog(postgres, clock);
  const comparing = { store, chain, actions, accountsAfter: accountsAfter(postgres, "registration", "account_id") };
  const reading = { store, clock, newId, devices, chain, follow, repair, registration };
  const tokenVerifier = runtime.tokenVerifier(tokenState);
  const server = runtime
    .server({ tokenVerifier, deadlines: DEADLINES })
    .add(AdminService, adminHandlers({ actions, readings: keyReadings(postgres) }))
    .add(KeyAdminService, keyAdminHandlers(comparing))
    .add(KeysService, keysHandlers({ ...reading, maxUserKeys: maxUserKeys + RECOVERED_KEYS, reportsPerMinute }));
  await runtime.serve(server, tokenState);
}

await runService({ name: "key", start });

import { adminHandlers, createActionLog, onPersonErased } from "@countersign/admin-actions";
import { asPort, createBatcher } from "@countersign/core";
import { KeyAdditionsService } from "@countersign/proto/account/v1/key_additions.ts";
import { AdminService } from "@countersign/proto/admin/v1/admin.ts";
import { ContactsService } from "@countersign/proto/auth/v1/contacts.ts";
import { AccountEventsService } from "@countersign/proto/device/v1/account_events.ts";
import { AdminService as DeviceAdminService } from "@countersign/proto/device/v1/admin.ts";
import { DevicesService } from "@countersign/proto/device/v1/devices.ts";
import { TimeLocksService } from "@countersign/proto/device/v1/time_locks.ts";
import { TwoFactorService } from "@countersign/proto/device/v1/two_factor.ts";
import { TimeLocksService as SignerTimeLocksService } from "@countersign/proto/signer/v1/time_locks.ts";
import { createServiceRuntime, runService, type ServiceProcess } from "@countersign/runtime";
import { keyAdditions, SWEEP_TIMEOUT_MS } from "./clients/key-additions.ts";
import { signerTimeLocks } from "./clients/time-locks.ts";
import { loadConfig } from "./config.ts";
import { RECOVERED_DEVICES } from "./domain/devices/device-limit.ts";
import { recordDeviceUse } from "./domain/devices/record-device-use.ts";
import { retireDevice } from "./domain/devices/retire-device.ts";
import { limitChainReads } from "./domain/two-factor/limit-chain-reads.ts";
import { startAccountEvents } from "./events/start.ts";
import { startTwoFactorJobs } from "./jobs/two-factor-sweeper.ts";
import { openLocator } from "./location/locate.ts";
import { startNotifications } from "./notices/start.ts";
import { accountEventsHandlers } from "./rpc/account-events.ts";
import { deviceAdminHandlers } from "./rpc/admin.ts";
import { devicesHandlers } from "./rpc/devices.ts";
import { timeLocksHandlers } from "./rpc/time-locks.ts";
import { twoFactorHandlers } from "./rpc/two-factor.ts";
import { deviceReadings, erasePerson } from "./store/account-readings.ts";
import { PrismaClient } from "./store/generated/client.ts";
import { postgresDeliveryStore } from "./store/postgres-delivery-store.ts";
import { postgresDeviceStore } from "./store/postgres-device-store.ts";
import { postgresWebhookStore } from "./store/postgres-webhook-store.ts";
import { prismaAdminStore } from "./store/prisma-admin-store.ts";
import { prismaTwoFactorStore } from "./store/prisma-two-factor-store.ts";
import { onKeyRevoked } from "./subscribers/key-revoked.ts";
import { startWebhooks } from "./webhooks/start.ts";

/** Of calls that wait: an approval for account service, signer and chain. */
const DEADLINES = {
  "device.v1.TwoFactor/ApproveTwoFactor": 12_000,
  "device.v1.Admin/TestWebhook": 12_000,
  "device.v1.Admin/ReplayWebhooks": 12_000,
};

async function start(service: ServiceProcess) {
  const config = loadConfig(service.env, service.files);
  const runtime = createServiceRuntime(service, config);
  const { clock, logger } = runtime;
  const { maxDevices, updatesPerMinute, passkeys } = config;
  const mostDevices = maxDevices + RECOVERED_DEVICES;

  const { prisma, postgres } = await runtime.database(PrismaClient);
  const devices = asPort("devices", postgresDeviceStore(prisma, postgres));
  const requests = asPort("requests", prismaTwoFactorStore(prisma), {
    take: (_id, step) => step.emit ?? "attempt",
  });
  const tokenState = runtime.watchTokenState();
  const account = runtime.client(KeyAdditionsService, "account");
  const contacts = runtime.client(ContactsService, "auth");
  const signer = runtime.client(SignerTimeLocksService, "signer", 2_000);

  runtime.consume({ durable: "device-key-revoked", handler: onKeyRevoked(retireDevice({ store: devices, clock })) });
  runtime.consume({ durable: "device-person-erased", handler: onPersonErased(erasePerson(postgres)) });
  const accountEvents = startAccountEvents(runtime);

  const locate = await openLocator(config.geoIpFile, logger);
  const twoFactor = {
    locate,
    requests,
    devices,
    keyAdditions: limitChainReads(keyAdditions(account), clock, config.chainReadsPerMinute),
    clock,
    limits: config.twoFactorLimits,
    maxDevices,
    isFrozen: tokenState.isFrozen,
    passkeys,
  };
  startNotifications(runtime, {
    config: config.notify,
    devices,
    requests,
    deliveries: asPort("deliveries", postgresDeliveryStore(prisma, postgres)),
    recordUse: recordDeviceUse({ store: devices, clock }),
    // Every sign-in is a notice: those that wait share one call.
    findEmail: createBatcher(
      async (accountIds) => (await contacts.listEmails({ accountIds: [...accountIds] }, { idempotent: true })).emails,
    ),
    maxPerDay: config.noticesPerDay,
  });
  const webhookStore = asPort("webhooks", postgresWebhookStore(postgres));
  const listApps = async (accountId: string, sessionId: string) =>
    (await contacts.listApps({ accountId, sessionId }, { idempotent: true })).appIds;
  const webhooks = startWebhooks(runtime, { ...config.webhooks, store: webhookStore, listApps });
  const sweeping = { ...twoFactor, keyAdditions: keyAdditions(account, SWEEP_TIMEOUT_MS), logger };
  startTwoFactorJobs(runtime.every, sweeping);

  const actions = createActionLog(postgres, clock);
  const admin = prismaAdminStore(prisma, requests, clock);
  const administering = { actions, admin, clock, webhooks: { ...webhooks, store: webhookStore, ...config.webhooks } };
  const tokenVerifier = runtime.tokenVerifier(tokenState);
  const server = runtime
    .server({ tokenVerifier, deadlines: DEADLINES })
    .add(AdminService, adminHandlers({ actions, readings: deviceReadings(postgres) }))
    .add(DeviceAdminService, deviceAdminHandlers(administering))
    .add(DevicesService, devicesHandlers({ store: devices, clock, maxDevices: mostDevices, updatesPerMinute }))
    .add(TwoFactorService, twoFactorHandlers(twoFactor))
    .add(TimeLocksService, timeLocksHandlers({ store: devices, timeLocks: signerTimeLocks(signer) }))
    .add(AccountEventsService, accountEventsHandlers(accountEvents));
  await runtime.serve(server, tokenState);
}

await runService({ name: "device", start });

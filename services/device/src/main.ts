import { createTokenVerifier, untilCurrent, watchTokenState } from "@countersign/access-tokens";
import { startConsumer, startOutboxPublisher } from "@countersign/events";
import { createPrismaAdapter } from "@countersign/postgres";
import { KeyAdditionsService } from "@countersign/proto/account/v1/key_additions.ts";
import { ContactsService } from "@countersign/proto/auth/v1/contacts.ts";
import { TokenStateService } from "@countersign/proto/auth/v1/token_state.ts";
import { AccountEventsService } from "@countersign/proto/device/v1/account_events.ts";
import { DevicesService } from "@countersign/proto/device/v1/devices.ts";
import { TimeLocksService } from "@countersign/proto/device/v1/time_locks.ts";
import { TwoFactorService } from "@countersign/proto/device/v1/two_factor.ts";
import { TimeLocksService as SignerTimeLocksService } from "@countersign/proto/signer/v1/time_locks.ts";
import { createRpcClient, createRpcServer } from "@countersign/rpc";
import { loadPeers, loadTls, runService, type ServiceProcess } from "@countersign/runtime";
import { keyAdditions } from "./clients/key-additions.ts";
import { signerTimeLocks } from "./clients/time-locks.ts";
import { loadConfig } from "./config.ts";
import { recordDeviceUse } from "./domain/devices/record-device-use.ts";
import { retireDevice } from "./domain/devices/retire-device.ts";
import { startAccountEvents } from "./events/start.ts";
import { startTwoFactorSweeper } from "./jobs/two-factor-sweeper.ts";
import { openLocator } from "./location/locate.ts";
import { startNotifications } from "./notices/start.ts";
import { accountEventsHandlers } from "./rpc/account-events.ts";
import { devicesHandlers } from "./rpc/devices.ts";
import { timeLocksHandlers } from "./rpc/time-locks.ts";
import { twoFactorHandlers } from "./rpc/two-factor.ts";
import { PrismaClient } from "./store/generated/client.ts";
import { prismaDeliveryStore } from "./store/prisma-delivery-store.ts";
import { prismaDeviceStore } from "./store/prisma-device-store.ts";
import { prismaTwoFactorStore } from "./store/prisma-two-factor-store.ts";
import { onKeyRevoked } from "./subscribers/key-revoked.ts";
import { onSessionCreated } from "./subscribers/session-created.ts";

async function start({ name, env, logger, metrics, clock, drainMs, signal, onClose, readyCheck }: ServiceProcess) {
  const config = loadConfig(env);
  const { natsUrl } = config;
  const { databaseUrl } = config.secrets;
  const tls = loadTls(config.tls);

  const prisma = new PrismaClient({ adapter: createPrismaAdapter(databaseUrl) });
  onClose("database", () => prisma.$disconnect());
  readyCheck("database", async () => (await prisma.$queryRaw`SELECT 1`) !== undefined);
  const store = prismaDeviceStore(prisma);

  const outbox = startOutboxPublisher({ databaseUrl, natsUrl, tls, logger, metrics });
  onClose("outbox", () => outbox.close());
  const consumer = startConsumer({
    natsUrl,
    tls,
    logger,
    durable: "device-session-created",
    // The time only moves forward, so their order does not matter.
    concurrency: 100,
    handler: onSessionCreated(recordDeviceUse({ store, clock })),
  });
  onClose("session-created", () => consumer.close());
  const revocations = startConsumer({
    natsUrl,
    tls,
    logger,
    durable: "device-key-revoked",
    handler: onKeyRevoked(retireDevice({ store, clock })),
  });
  onClose("key-revoked", () => revocations.close());

  const accountEvents = startAccountEvents({ natsUrl, tls, logger, metrics, clock, stopping: signal });
  onClose("account-events", () => accountEvents.close());

  const auth = createRpcClient(TokenStateService, {
    address: config.authAddress,
    tls,
    serverName: "auth",
    deadlineMs: 3000,
    metrics,
  });
  onClose("auth", () => auth.close());
  const tokenState = watchTokenState(auth, { logger, clock });
  onClose("token-state", () => tokenState.close());
  readyCheck("token-state", () => tokenState.current());

  const account = createRpcClient(KeyAdditionsService, {
    address: config.accountAddress,
    tls,
    serverName: "account",
    deadlineMs: 3000,
    metrics,
  });
  onClose("account", () => account.close());
  const { locate } = await openLocator(config.geoIpFile, logger);
  const twoFactor = {
    locate,
    requests: prismaTwoFactorStore(prisma),
    devices: store,
    keyAdditions: keyAdditions(account),
    clock,
    limits: config.twoFactorLimits,
    maxDevices: config.maxDevices,
    isFrozen: tokenState.isFrozen,
    passkeys: config.passkeys,
  };
  const contacts = createRpcClient(ContactsService, {
    address: config.authAddress,
    tls,
    serverName: "auth",
    deadlineMs: 3000,
    metrics,
  });
  onClose("contacts", () => contacts.close());
  const signer = createRpcClient(SignerTimeLocksService, {
    address: config.signerAddress,
    tls,
    serverName: "signer",
    deadlineMs: 2000,
    metrics,
  });
  onClose("signer", () => signer.close());
  const notifications = startNotifications({
    config: config.notify,
    devices: store,
    requests: twoFactor.requests,
    deliveries: prismaDeliveryStore(prisma),
    findEmail: async (accountId) => (await contacts.getContact({ accountId }, { idempotent: true })).email,
    natsUrl,
    tls,
    logger,
    clock,
  });
  onClose("notifications", () => notifications.close());
  const sweeper = startTwoFactorSweeper({ ...twoFactor, logger });
  onClose("two-factor-sweeper", () => sweeper.close());

  const server = createRpcServer({
    name,
    tls,
    peers: loadPeers(config.peersFile),
    tokenVerifier: createTokenVerifier(tokenState, { issuer: config.tokenIssuer, clock }),
    logger,
    metrics,
    // An approval with a signature waits for the account service and, behind it, for the signer and the
    // chain.
    deadlines: { "device.v1.TwoFactor/ApproveTwoFactor": 12_000 },
  })
    .add(DevicesService, devicesHandlers({ store, clock, maxDevices: config.maxDevices }))
    .add(TwoFactorService, twoFactorHandlers(twoFactor))
    .add(TimeLocksService, timeLocksHandlers({ store, timeLocks: signerTimeLocks(signer) }))
    .add(AccountEventsService, accountEventsHandlers(accountEvents));
  onClose("rpc", () => server.stop(drainMs));
  await untilCurrent(tokenState);
  await server.listen(config.listen);
}

await runService({ name: "device", start });

import { createTokenVerifier, untilCurrent, watchTokenState } from "@countersign/access-tokens";
import { uuidv7 } from "@countersign/core";
import { startConsumer, startOutboxPublisher } from "@countersign/events";
import { createPrismaAdapter } from "@countersign/postgres";
import { AccountKeysService } from "@countersign/proto/account/v1/account_keys.ts";
import { TokenStateService } from "@countersign/proto/auth/v1/token_state.ts";
import { DevicesService } from "@countersign/proto/device/v1/devices.ts";
import { KeysService } from "@countersign/proto/key/v1/keys.ts";
import { createRpcClient, createRpcServer } from "@countersign/rpc";
import { loadPeers, loadTls, runService, type ServiceProcess } from "@countersign/runtime";
import { chainDirectory } from "./clients/chain-directory.ts";
import { deviceDirectory } from "./clients/device-directory.ts";
import { loadConfig } from "./config.ts";
import { followChain } from "./domain/follow-chain.ts";
import { noteKeyUsed } from "./domain/note-key-used.ts";
import { repairOnRead } from "./domain/repair-on-read.ts";
import { tellStrangers } from "./domain/tell-strangers.ts";
import { startStrangerAlarm } from "./jobs/stranger-alarm.ts";
import { keysHandlers } from "./rpc/handlers.ts";
import { PrismaClient } from "./store/generated/client.ts";
import { prismaKeyStore } from "./store/prisma-key-store.ts";
import { onAccountKeysChanged } from "./subscribers/account-keys-changed.ts";
import { onSessionCreated } from "./subscribers/session-created.ts";

/** A recovery key's registration looks at the chain twice within its deadline of 8 s. */
const REGISTRATION_LOOK_MS = 3_500;

async function start({ name, env, logger, metrics, clock, drainMs, onClose, readyCheck }: ServiceProcess) {
  const config = loadConfig(env);
  const { natsUrl } = config;
  const { databaseUrl } = config.secrets;
  const tls = loadTls(config.tls);

  const prisma = new PrismaClient({ adapter: createPrismaAdapter(databaseUrl) });
  onClose("database", () => prisma.$disconnect());
  readyCheck("database", async () => (await prisma.$queryRaw`SELECT 1`) !== undefined);
  const store = prismaKeyStore(prisma);

  const outbox = startOutboxPublisher({ databaseUrl, natsUrl, tls, logger, metrics });
  onClose("outbox", () => outbox.close());
  const consumer = startConsumer({
    natsUrl,
    tls,
    logger,
    durable: "key-session-created",
    // The time only moves forward, so their order does not matter.
    concurrency: 100,
    handler: onSessionCreated(noteKeyUsed({ store, clock })),
  });
  onClose("session-created", () => consumer.close());

  const connection = { tls, deadlineMs: 3000, metrics };
  const auth = createRpcClient(TokenStateService, { ...connection, address: config.authAddress, serverName: "auth" });
  onClose("auth", () => auth.close());
  const device = createRpcClient(DevicesService, {
    ...connection,
    address: config.deviceAddress,
    serverName: "device",
  });
  onClose("device", () => device.close());
  const tokenState = watchTokenState(auth, { logger, clock });
  onClose("token-state", () => tokenState.close());
  readyCheck("token-state", () => tokenState.current());

  const account = createRpcClient(AccountKeysService, {
    ...connection,
    address: config.accountAddress,
    serverName: "account",
  });
  onClose("account", () => account.close());
  const newId = () => uuidv7(clock);
  const followOn = (chain: ReturnType<typeof chainDirectory>) =>
    followChain({ store, chain, clock, newId, alertAfterMs: config.alertAfterMs });
  const chain = chainDirectory(account);
  const follow = followOn(chain);
  const slowChain = chainDirectory(account, REGISTRATION_LOOK_MS);
  const registration = { chain: slowChain, follow: followOn(slowChain) };
  const onProblem = (err: unknown) => logger.warn({ err }, "keys are answered without a look at the chain");
  const repair = repairOnRead({ follow, clock, onProblem });
  const changes = startConsumer({
    natsUrl,
    tls,
    logger,
    durable: "key-account-keys-changed",
    concurrency: 10,
    handler: onAccountKeysChanged(follow),
  });
  onClose("account-keys-changed", () => changes.close());
  const alarm = startStrangerAlarm({ tell: tellStrangers({ store, clock }), logger });
  onClose("stranger-alarm", () => alarm.close());

  const devices = deviceDirectory(device);
  const { maxUserKeys } = config;
  const server = createRpcServer({
    name,
    tls,
    peers: loadPeers(config.peersFile),
    tokenVerifier: createTokenVerifier(tokenState, { issuer: config.tokenIssuer, clock }),
    logger,
    metrics,
    deadlines: { "key.v1.Keys/RegisterRecoveryKey": 8_000 },
  }).add(KeysService, keysHandlers({ store, clock, newId, maxUserKeys, devices, chain, follow, repair, registration }));
  onClose("rpc", () => server.stop(drainMs));
  await untilCurrent(tokenState);
  await server.listen(config.listen);
}

await runService({ name: "key", start });

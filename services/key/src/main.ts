import { startConsumer, startOutboxPublisher } from "@countersign/outbox";
import { TokenStateService } from "@countersign/proto/auth/v1/token_state.ts";
import { DevicesService } from "@countersign/proto/device/v1/devices.ts";
import { KeysService } from "@countersign/proto/key/v1/keys.ts";
import {
  createPrismaAdapter,
  createRpcClient,
  createRpcServer,
  createTokenVerifier,
  loadPeers,
  loadTls,
  runService,
  type ServiceProcess,
  uuidv7,
  watchTokenState,
} from "@countersign/service-kit";
import { deviceDirectory } from "./clients/device-directory.ts";
import { loadConfig } from "./config.ts";
import { noteKeyUsed } from "./domain/note-key-used.ts";
import { keysHandlers } from "./rpc/handlers.ts";
import { PrismaClient } from "./store/generated/client.ts";
import { prismaKeyStore } from "./store/prisma-key-store.ts";
import { onSessionCreated, SESSION_CREATED_DURABLE, SESSION_CREATED_SUBJECT } from "./subscribers/session-created.ts";

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
    durable: SESSION_CREATED_DURABLE,
    filter: SESSION_CREATED_SUBJECT,
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

  const devices = deviceDirectory(device);
  const newId = () => uuidv7(clock);
  const server = createRpcServer({
    name,
    tls,
    peers: loadPeers(config.peersFile),
    tokenVerifier: createTokenVerifier(tokenState, { issuer: config.tokenIssuer, clock }),
    logger,
    metrics,
  }).add(KeysService, keysHandlers({ store, clock, newId, maxUserKeys: config.maxUserKeys, devices }));
  onClose("rpc", () => server.stop(drainMs));
  await server.listen(config.listen);
}

await runService({ name: "key", start });

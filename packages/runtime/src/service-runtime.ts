import {
  createTokenVerifier,
  type TokenState,
  type TokenVerifierOptions,
  untilCurrent,
  type WatchedTokenState,
  watchTokenState,
} from "@countersign/access-tokens";
import { type TlsMaterial, type TokenVerifier, type Watched, withCommitPoints } from "@countersign/core";
import {
  type ConsumerOptions,
  linkNats,
  type NatsLink,
  startConsumer,
  startOutboxPublisher,
} from "@countersign/events";
import {
  DatabaseRestoredError,
  openDatabaseMark,
  openPostgres,
  type Postgres,
  renewDatabaseMark,
} from "@countersign/postgres";
import { TokenStateService } from "@countersign/proto/auth/v1/token_state.ts";
import {
  createRpcChannel,
  createRpcServer,
  type RpcChannel,
  type RpcClient,
  type RpcServer,
  type RpcServerOptions,
  type ServiceDefinition,
} from "@countersign/rpc";
import { exportCertificateExpiry } from "./certificate-metrics.ts";
import { loadPeers, requireRpcs } from "./peers.ts";
import { type PeriodicJobOptions, startPeriodicJob } from "./periodic-job.ts";
import { createPoolMetrics } from "./pool-metrics.ts";
import type { ServiceProcess } from "./process.ts";
import { type TlsPaths, watchTls } from "./tls.ts";
import { exportTokenStateAge } from "./token-state-metrics.ts";

/** The settings that every service has; a service's own `loadConfig` returns them among its others. */
export interface ServiceSettings {
  /** host:port of the gRPC server. */
  listen: string;
  natsUrl: string;
  peersFile: string;
  /** `iss` of the access tokens that are accepted. */
  issuer: string;
  tls: TlsPaths;
  /** host:port, or several IP:port with commas, of the services that this one calls. */
  addresses: Readonly<Record<string, string>>;
  /** Whether calls to other services share streams. Default: each is sent alone. */
  coalesceCalls?: boolean;
  secrets: { databaseUrl: Watched<string> };
}

/** Milliseconds between two signs of life in the database; see database-mark.ts. */
const DATABASE_MARK_MS = 2_000;
/** Milliseconds of a call to another service. */
const DEADLINE_MS = 3_000;

interface PrismaLike {
  $queryRaw(query: TemplateStringsArray): Promise<unknown>;
  $disconnect(): Promise<void>;
}

/** A database for statements and for Prisma; both use the same connections. */
export interface Database<C> {
  postgres: Postgres;
  prisma: C;
}

type PrismaClass<C> = new (options: { adapter: Postgres["adapter"] }) => C;

/**
 * The parts that services are built from. All are closed when the process stops, in the reverse order of
 * construction.
 */
export interface ServiceRuntime<Callee extends string = string> extends ServiceProcess {
  tls: Watched<TlsMaterial>;
  nats: NatsLink;
  /**
   * Opens the service's database, which must answer at the start, and starts its outbox. A database that was
   * restored and not released since ends the process; after a restore, tokens from before are refused.
   * Errors: DatabaseRestoredError.
   */
  database<C extends PrismaLike>(Client: PrismaClass<C>): Promise<Database<C>>;
  /** Opens one more connection to the same database: an administrator's long reads take none from others. */
  administration<C extends PrismaLike>(Client: PrismaClass<C>): Database<C>;
  /** Opens two more connections to the same database, for statements only; metrics show them by `name`. */
  statements(name: string): Postgres;
  /** Calls another service; 3 s for each call unless `deadlineMs` says otherwise. */
  client<S extends ServiceDefinition>(service: S, callee: Callee, deadlineMs?: number): RpcClient<S>;
  consume(options: Omit<ConsumerOptions, "nats" | "logger" | "metrics">): void;
  every(intervalMs: number, job: string, run: PeriodicJobOptions["run"], retryMs?: number): void;
  /** Follows auth's token state, which must be current at the start. `client`: one that the service has. */
  watchTokenState(this: ServiceRuntime<Callee | "auth">, client?: RpcClient<TokenStateService>): WatchedTokenState;
  tokenVerifier(tokenState: TokenState, tokens?: Partial<TokenVerifierOptions>): TokenVerifier;
  server(options: Pick<RpcServerOptions, "tokenVerifier" | "deadlines" | "deadlineMs">): RpcServer;
  /** Waits until the token state is current and then serves. */
  serve(server: RpcServer, tokenState: TokenState): Promise<void>;
}

/** Constructs the parts that all services have in common, from one process and its settings. */
export function createServiceRuntime<S extends ServiceSettings>(
  service: ServiceProcess,
  settings: S,
): ServiceRuntime<Extract<keyof S["addresses"], string>> {
  const { name, logger, metrics, clock, files, drainMs, onClose, dependency } = service;
  const { issuer, addresses } = settings;
  const { databaseUrl } = settings.secrets;
  const tls = watchTls(files, settings.tls);
  const { onDatabaseConnection: onConnect } = exportCertificateExpiry(metrics, tls);
  const peers = files.watch("peers", (read) => loadPeers(settings.peersFile, read));
  const nats = linkNats({ natsUrl: settings.natsUrl, tls, name, logger });
  onClose("nats", () => nats.close());

  let issuedFrom: Date | undefined;
  const pools = createPoolMetrics(metrics);
  function openPool(pool: string, connections: number): Postgres {
    const onError = (err: unknown) => logger.warn({ err }, "Postgres connection lost");
    const postgres = openPostgres(databaseUrl, { connections, onError, onConnect, onWait: pools.onWait(pool) });
    pools.add(pool, postgres);
    return postgres;
  }
  function openDatabase<C extends PrismaLike>(pool: string, Client: PrismaClass<C>, connections: number): Database<C> {
    const postgres = openPool(pool, connections);
    const prisma = new Client({ adapter: postgres.adapter });
    onClose("database", async () => {
      await prisma.$disconnect();
      await postgres.close();
    });
    return { postgres, prisma };
  }
  const withPoints = <C extends PrismaLike>({ postgres, prisma }: Database<C>): Database<C> => ({
    postgres: withCommitPoints(postgres),
    prisma: withCommitPoints(prisma),
  });

  const channels = new Map<string, RpcChannel>();
  function channelTo(callee: string): RpcChannel {
    const known = channels.get(callee);
    if (known) return known;
    const address = addresses[callee];
    if (address === undefined) throw new Error(`no address of ${callee} is configured`);
    const { coalesceCalls: coalesce = false } = settings;
    const channel = createRpcChannel({ address, tls, serverName: callee, deadlineMs: DEADLINE_MS, metrics, coalesce });
    channels.set(callee, channel);
    onClose(callee, () => channel.close());
    return channel;
  }

  const runtime: ServiceRuntime = {
    ...service,
    tls,
    nats,
    async database(Client) {
      const database = openDatabase("main", Client, 5);
      const { postgres, prisma } = database;
      let { seenAt, restoredAt } = await openDatabaseMark(postgres).catch((cause) => {
        if (cause instanceof DatabaseRestoredError) throw cause;
        // Of a host with several addresses the error has no message.
        throw new Error(`${name.toUpperCase()}_DATABASE_URL: ${cause.message || cause.code}`, { cause });
      });
      issuedFrom = restoredAt;
      let renewedAt = performance.now();
      runtime.every(DATABASE_MARK_MS, "database mark", async () => {
        const begun = performance.now();
        seenAt = await renewDatabaseMark(postgres, seenAt, begun - renewedAt).catch((error) => {
          // Nothing that this process remembers fits to the database any more.
          if (error instanceof DatabaseRestoredError) setImmediate(() => Promise.reject(error));
          throw error;
        });
        renewedAt = begun;
      });
      dependency("database", async () => (await prisma.$queryRaw`SELECT 1`) !== undefined);
      const outbox = startOutboxPublisher({ nats, postgres, logger, metrics });
      onClose("outbox", () => outbox.close());
      return withPoints(database);
    },
    administration: (Client) => withPoints(openDatabase("administration", Client, 1)),
    statements(pool) {
      const postgres = openPool(pool, 2);
      onClose(`${pool} queries`, () => postgres.close());
      return postgres;
    },
    client: (definition, callee, deadlineMs = DEADLINE_MS) => channelTo(callee).client(definition, deadlineMs),
    consume(options) {
      const consumer = startConsumer({ nats, logger, metrics, ...options });
      onClose(options.durable, () => consumer.close());
    },
    every(intervalMs, job, run, retryMs = intervalMs) {
      const periodic = startPeriodicJob({ job, intervalMs, retryMs, run, logger });
      onClose(job, () => periodic.close());
    },
    watchTokenState(client = runtime.client(TokenStateService, "auth")) {
      const tokenState = watchTokenState(client, { logger, clock });
      exportTokenStateAge(metrics, tokenState);
      onClose("token-state", () => tokenState.close());
      dependency("token-state", () => tokenState.current());
      return tokenState;
    },
    tokenVerifier: (tokenState, tokens) => createTokenVerifier(tokenState, { issuer, clock, issuedFrom, ...tokens }),
    server: (options) => createRpcServer({ tls, peers, logger, metrics, ...options }),
    async serve(server, tokenState) {
      onClose("rpc", () => server.stop(drainMs));
      await untilCurrent(tokenState);
      await server.listen(settings.listen);
      peers.require((changed) => requireRpcs(changed, server.rpcs()));
    },
  };
  return runtime;
}

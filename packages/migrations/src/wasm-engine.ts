import type { EventEmitter } from "node:events";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { PrismaPg } from "@prisma/adapter-pg";
import {
  bindMigrationAwareSqlAdapterFactory,
  ColumnTypeEnum,
  type SqlDriverAdapter,
  type SqlMigrationAwareDriverAdapterFactory,
} from "@prisma/driver-adapter-utils";
import type { SchemaEngine } from "@prisma/schema-engine-wasm";
import pg from "pg";

interface EngineModule {
  SchemaEngine: typeof SchemaEngine;
  __wbg_set_wasm(exports: unknown): void;
}

/** The part of WebAssembly that is used here: TypeScript declares it only among the types of a browser. */
declare const WebAssembly: {
  instantiate(source: Uint8Array, imports: object): Promise<{ instance: { exports: Record<string, unknown> } }>;
};

/**
 * State that exists once per process, however often this module is loaded: vitest loads it again for each
 * project's set-up, but the engine's glue code only once, for one instance.
 */
interface Shared {
  loaded?: Promise<EngineModule>;
  turn: Promise<unknown>;
}
const SHARED = Symbol.for("countersign.schema-engine");
const globals = globalThis as { [SHARED]?: Shared };
globals[SHARED] ??= { turn: Promise.resolve() };
const shared = globals[SHARED];

/** Loads Prisma's schema engine by hand: importing a .wasm file as a module prints a warning in Node 24. */
async function loadEngine(): Promise<EngineModule> {
  const dir = dirname(createRequire(import.meta.url).resolve("@prisma/schema-engine-wasm"));
  const glue = "schema_engine_bg.js";
  const bindings = (await import(pathToFileURL(join(dir, glue)).href)) as EngineModule;
  // The engine stores the message of a panic here.
  Object.assign(globalThis, { PRISMA_WASM_PANIC_REGISTRY: { set_message: (text: string) => console.error(text) } });
  const source = readFileSync(join(dir, "schema_engine_bg.wasm"));
  const imports = Object.fromEntries(
    Object.entries(bindings).map(([name, value]) =>
      // The engine's time limit of ten seconds for a lock must not keep a finished program alive.
      name.startsWith("__wbg_setTimeout")
        ? [name, (work: () => void, ms: number) => setTimeout(work, ms).unref()]
        : [name, value],
    ),
  );
  const { instance } = await WebAssembly.instantiate(source, { [`./${glue}`]: imports });
  bindings.__wbg_set_wasm(instance.exports);
  (instance.exports.__wbindgen_start as () => void)();
  return bindings;
}

const INTERNAL_CHAR = 18;
const TEXT = 25;

/**
 * Connects the engine to a database. adapter-pg does not know Postgres' one-byte "char", a type that the
 * engine reads from the catalogue: such values pass the adapter as text and get their type back. There is one
 * connection, so queries run in turn.
 */
async function connect(pool: pg.Pool): Promise<SqlDriverAdapter> {
  let charColumns: number[] = [];
  pool.on("error", () => undefined);
  pool.on("connect", (client) => {
    client.on("error", () => undefined);
    const { connection } = client as unknown as { connection: EventEmitter };
    connection.prependListener("rowDescription", ({ fields }: { fields: { dataTypeID: number }[] }) => {
      charColumns = fields.flatMap((field, index) => (field.dataTypeID === INTERNAL_CHAR ? [index] : []));
      for (const index of charColumns) fields[index]!.dataTypeID = TEXT;
    });
  });
  const adapter = await new PrismaPg(pool).connect();
  const queryRaw = adapter.queryRaw.bind(adapter);
  adapter.queryRaw = async (query) => {
    const result = await queryRaw(query);
    for (const index of charColumns) result.columnTypes[index] = ColumnTypeEnum.Character;
    return result;
  };
  const executeRaw = adapter.executeRaw.bind(adapter);
  adapter.executeRaw = async (query) => {
    const changed = await executeRaw(query);
    // With the engine's lock no other run is in the middle of a migration.
    if (query.sql.includes("advisory_lock")) await pool.query(endBegun("rolled_back_at"));
    return changed;
  };
  adapter.executeScript = (script) => runScript(pool, script);
  return adapter;
}

/** Milliseconds that a statement of a migration waits for a lock: everybody else waits behind it. */
const LOCK_TIMEOUT_MS = 2_000;
const RETRY_MS = 3_000;
const GIVE_UP_MS = 300_000;
/** An index of a large table takes longer than a load balancer keeps a silent connection. */
const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 };
const LOCK_NOT_AVAILABLE = "55P03";

const CONCURRENTLY = /\b(?:CREATE|DROP)\s+(?:UNIQUE\s+)?INDEX\s+CONCURRENTLY\s+(?:IF\s+EXISTS\s+)?"?(\w+)"?/i;

/**
 * Ends the records of migrations that have begun, where there are records. One that was interrupted changed
 * nothing, or left an index; the engine would refuse all later ones until somebody corrects its record.
 */
const endBegun = (as: "finished_at" | "rolled_back_at"): string => `
  DO $$ BEGIN IF to_regclass('_prisma_migrations') IS NOT NULL THEN
    UPDATE _prisma_migrations SET ${as} = now() WHERE finished_at IS NULL AND rolled_back_at IS NULL;
  END IF; END $$`;

/**
 * Runs a migration's script and records its end, which Postgres does as one transaction. Where a lock is not
 * free in time, it changed nothing, lets the others pass, and runs again. adapter-pg would split the script
 * at every semicolon, also inside of a function's body.
 */
async function runScript(pool: pg.Pool, script: string): Promise<void> {
  const [, index] = CONCURRENTLY.exec(script) ?? [];
  if (index !== undefined) {
    // In no transaction. It locks nobody out, and waits as long as older transactions take; a run that was
    // interrupted has left an index, or has dropped it.
    await pool.query(`DROP INDEX CONCURRENTLY IF EXISTS "${index}"`);
    await pool.query(script.replace(/\b(DROP\s+INDEX\s+CONCURRENTLY)(?!\s+IF\b)/i, "$1 IF EXISTS"));
    return;
  }
  // The pool would end the connection of a query that failed, and with it the limit and the engine's lock.
  const client = await pool.connect();
  try {
    await client.query(`SET lock_timeout = ${LOCK_TIMEOUT_MS}`);
    for (const end = performance.now() + GIVE_UP_MS; ; await sleep(RETRY_MS)) {
      try {
        await client.query(`${script}\n;${endBegun("finished_at")}`);
        return;
      } catch (error) {
        if ((error as { code?: string }).code !== LOCK_NOT_AVAILABLE || performance.now() > end) throw error;
        console.error("a migration waits for a lock; will retry");
      }
    }
  } finally {
    // The engine's own lock, for which migrations wait that run at the same time, has another limit.
    await client.query("SET lock_timeout = 0").catch(() => undefined);
    client.release();
  }
}

/**
 * Runs `work` with Prisma's schema engine on a database and leaves no connection open. `datamodels` are
 * `[path, content]` pairs of schema files.
 */
export function withSchemaEngine<T>(options: EngineOptions, work: (engine: SchemaEngine) => Promise<T>): Promise<T> {
  // One after another: ten at once are no faster, and the engine does not promise to support it.
  const mine = shared.turn.then(() => runEngine(options, work));
  shared.turn = mine.catch(() => undefined);
  return mine;
}

interface EngineOptions {
  url: string;
  datamodels?: [string, string][];
}

async function runEngine<T>(options: EngineOptions, work: (engine: SchemaEngine) => Promise<T>): Promise<T> {
  shared.loaded ??= loadEngine();
  const { SchemaEngine } = await shared.loaded;
  const open = () => new pg.Pool({ connectionString: options.url, max: 1, idleTimeoutMillis: 0, ...KEEP_ALIVE });
  const pools = [open(), open()] as const;
  const factory: SqlMigrationAwareDriverAdapterFactory = {
    provider: "postgres",
    adapterName: "@prisma/adapter-pg",
    connect: () => connect(pools[0]),
    connectToShadowDb: () => connect(pools[1]),
  };
  const adapter = bindMigrationAwareSqlAdapterFactory(factory);
  const engine = await SchemaEngine.new({ datamodels: options.datamodels }, () => undefined, adapter);
  try {
    return await work(engine);
  } catch (error) {
    // The engine's message has only the number of Postgres's error.
    const name = /migration_name="(\w+)"/.exec((error as Error).message)?.[1];
    const [, id] = /External error id#(\d+)/.exec((error as Error).message) ?? [];
    const cause = adapter.errorRegistry.consumeError(Number(id))?.error;
    throw cause instanceof Error ? new Error(`${name ? `${name}: ` : ""}${cause.message}`, { cause }) : error;
  } finally {
    engine.free();
    await Promise.all(pools.map((pool) => pool.end()));
  }
}

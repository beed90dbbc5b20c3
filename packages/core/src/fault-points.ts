import { AsyncLocalStorage } from "node:async_hooks";
import { connect, type Socket } from "node:net";
import { wrapMethods } from "./wrap-methods.ts";

/**
 * One JSON line that a process sends to its controller; it continues when the controller answers the id, as a
 * line. After the answer "<id> free" the process only reports the point and no longer waits at it.
 */
export interface FaultPointReport {
  id: number;
  point: string;
  pid: number;
}

/** The current operation of a process: an RPC, the handling of an event, one run of a job. */
interface Operation {
  readonly name: string;
  readonly calls: Set<string>;
  readonly call?: string;
}

const BACKGROUND = "background";
/** Methods whose names begin so change nothing: a kill at one equals a kill after the call before it. */
const READS = /^(count|describe|find|get|has|is|list|may|read|watch)(?![a-z])/;

let reach: ((point: string) => Promise<void> | undefined) | undefined;
let program = "";
const operations = new AsyncLocalStorage<Operation>();

type Method = (...args: never[]) => unknown;
type Methods<T> = { [K in keyof T]-?: T[K] extends Method ? K : never }[keyof T];
type AsyncMethods<T> = { [K in keyof T]-?: T[K] extends (...args: never[]) => Promise<unknown> ? K : never }[keyof T];

/**
 * The methods of a port that differ from the others: `false` for one that is not wrapped at all, as every
 * synchronous method must be; a function that names the subject of a call, where the fault points of
 * different calls must differ.
 */
export type PortMethods<T> = { readonly [K in Exclude<Methods<T>, AsyncMethods<T>>]: false } & {
  readonly [K in AsyncMethods<T>]?: T[K] extends (...args: infer A) => unknown
    ? false | ((...args: A) => string)
    : false;
};

export type PortMethodsArgument<T> =
  Record<never, never> extends PortMethods<T> ? [methods?: PortMethods<T>] : [methods: PortMethods<T>];

/**
 * Makes a fault point, at which a test may kill the process, before each call of the port's methods and after
 * each one that succeeded: "key/RegisterKey: keys.withAccount before". Methods that only read have none.
 * Without a controller it returns the port itself.
 */
export function withFaultPoints<T extends object>(name: string, port: T, ...[methods]: PortMethodsArgument<T>): T {
  if (reach === undefined) return port;
  const labels = (methods ?? {}) as Record<string, undefined | ((...args: unknown[]) => string)>;
  return wrapMethods(port, labels, (key, method) => {
    if (READS.test(key)) return method;
    return async (...args) => {
      const about = labels[key]?.(...args);
      const call = about ? `${name}.${key}(${about})` : `${name}.${key}`;
      return betweenPoints(call, async () => method(...args));
    };
  });
}

async function betweenPoints<R>(method: string, work: () => Promise<R>): Promise<R> {
  const operation = operations.getStore() ?? { name: BACKGROUND, calls: new Set<string>() };
  // How often an operation repeats a call depends on timing: all repetitions share one name.
  const call = operation.calls.has(method) ? `${method} again` : method;
  operation.calls.add(method);
  await pass(`${operation.name}: ${call} before`);
  const result = await operations.run({ ...operation, call }, work);
  await pass(`${operation.name}: ${call} after`);
  return result;
}

/**
 * Names the fault points within `run` after the operation, and adds one at its begin and one at its
 * successful end. Without a controller it returns `run` itself.
 */
export function asOperation<A extends unknown[], R>(
  operation: string | ((...args: A) => string),
  run: (...args: A) => Promise<R>,
): (...args: A) => Promise<R> {
  if (reach === undefined) return run;
  return (...args) => {
    const name = typeof operation === "string" ? operation : operation(...args);
    return operations.run({ name, calls: new Set() }, async () => {
      await pass(`${name} begins`);
      const result = await run(...args);
      await pass(`${name} ends`);
      return result;
    });
  };
}

/**
 * Adds a fault point before the commit of each interactive transaction, named after the call of a port that
 * the transaction belongs to. Without a controller it returns the client itself.
 */
export function withCommitPoints<C extends object>(client: C): C {
  if (reach === undefined) return client;
  return wrapMethods(client, {}, (key, method) => {
    // Prisma's name, and that of packages/postgres.
    if (key !== "$transaction" && key !== "transaction") return method;
    return (work, ...rest) => {
      const { name = BACKGROUND, call = "a transaction" } = operations.getStore() ?? {};
      const untilCommit = async (transaction: unknown) => {
        const result: unknown = await (work as (transaction: unknown) => unknown)(transaction);
        await pass(`${name}: ${call} before commit`);
        return result;
      };
      return method(typeof work === "function" ? untilCommit : work, ...rest);
    };
  });
}

const pass = (point: string): Promise<void> | undefined => reach?.(`${program}/${point}`);

/** For tests only: reports this process's fault points to the controller at this Unix socket from now on. */
export function enableFaultPoints(socketPath: string, programName: string): void {
  program = programName;
  reach = reporter(socketPath);
}

function reporter(path: string): (point: string) => Promise<void> | undefined {
  const waiting = new Map<number, { point: string; goOn(): void }>();
  const free = new Set<string>();
  let socket: Socket | undefined;
  let lastId = 0;

  const answered = (line: string): void => {
    const [id, isFree] = line.split(" ");
    const held = waiting.get(Number(id));
    if (held === undefined) return;
    waiting.delete(Number(id));
    if (isFree) free.add(held.point);
    held.goOn();
  };

  const open = (): Socket => {
    const opened = connect(path).setEncoding("utf8");
    let rest = "";
    opened.on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) answered(line);
    });
    opened.on("error", () => undefined);
    // A controller that is gone must not block the process.
    opened.on("close", () => {
      socket = undefined;
      for (const id of [...waiting.keys()]) answered(String(id));
    });
    return opened.unref();
  };

  return (point) => {
    lastId += 1;
    const report: FaultPointReport = { id: lastId, point, pid: process.pid };
    socket ??= open();
    socket.write(`${JSON.stringify(report)}\n`);
    if (free.has(point)) return undefined;
    return new Promise((goOn) => void waiting.set(report.id, { point, goOn }));
  };
}

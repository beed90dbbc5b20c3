import { connect, type Socket } from "node:net";

/**
 * One JSON line that a process sends to its controller; it continues when the controller answers the id, as a
 * line.
 */
export interface FaultPointReport {
  id: number;
  point: string;
  pid: number;
}

let reach: ((point: string) => Promise<void>) | undefined;

/** The closed list of a program's fault points by operation; a point may be part of several operations. */
export interface FaultPoints<Name extends string = string> {
  readonly signUp: readonly Name[];
  /** A new device is enrolled by an approver's signature. */
  readonly enrollmentBySignature: readonly Name[];
  /** A new device is enrolled by a transaction that the approver has sent. */
  readonly enrollmentByTransaction: readonly Name[];
  /** Keys change on chain by a transaction that no service took part in. */
  readonly chainChange: readonly Name[];
  /** A time lock starts, and the change is signed after it ends. */
  readonly timeLock: readonly Name[];
  /** An account is frozen, and what was signed for it voided. */
  readonly freeze: readonly Name[];
  /** The signer's budgets learn what the paymaster paid: some time after the payment, in any operation. */
  readonly settlement?: readonly Name[];
  /**
   * An account is changed on chain by no transaction of ours; absent where the program takes no part in it.
   */
  readonly chainAlert?: readonly Name[];
  /** An account's server key is rotated; absent where the program takes no part in it. */
  readonly rotateServerKey?: readonly Name[];
}

/**
 * Defines the fault points of a service, at which a test may stop or kill it. The controller gets `service`
 * and the name as "auth/claimed". The closed lists are the matrix of the fault tests. Without a controller a
 * point costs one comparison.
 */
export function defineFaultPoints<Name extends string>(service: string, _points: FaultPoints<Name>) {
  return (name: Name): Promise<void> | undefined => (reach === undefined ? undefined : reach(`${service}/${name}`));
}

/** Reports each fault point that is reached to the controller at this Unix socket. For tests only. */
export function enableFaultPoints(socketPath: string): void {
  reach = reporter(socketPath);
}

/** Disables fault points, for tests of this package: a process never disables them again. */
export function disableFaultPoints(): void {
  reach = undefined;
}

function reporter(path: string): (point: string) => Promise<void> {
  const waiting = new Map<number, () => void>();
  let socket: Socket | undefined;
  let lastId = 0;

  const open = (): Socket => {
    const opened = connect(path).setEncoding("utf8");
    let rest = "";
    opened.on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) waiting.get(Number(line))?.();
    });
    opened.on("error", () => undefined);
    // A controller that is gone must not block the process.
    opened.on("close", () => {
      socket = undefined;
      for (const goOn of [...waiting.values()]) goOn();
    });
    return opened.unref();
  };

  return (point) =>
    new Promise((resolve) => {
      lastId += 1;
      const id = lastId;
      waiting.set(id, () => {
        waiting.delete(id);
        resolve();
      });
      socket ??= open();
      const report: FaultPointReport = { id, point, pid: process.pid };
      socket.write(`${JSON.stringify(report)}\n`);
    });
}

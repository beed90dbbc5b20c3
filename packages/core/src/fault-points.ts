import { connect, type Socket } from "node:net";

/** What a process tells its controller: one JSON line. The controller answers the id, as a line, when it may go on. */
export interface FaultPointReport {
  id: number;
  point: string;
  pid: number;
}

let reach: ((point: string) => Promise<void>) | undefined;

/** The closed list of a program's places by the way that passes them; a place may be on several ways. */
export interface FaultPoints<Name extends string = string> {
  readonly signUp: readonly Name[];
  /** A new device is let in by an approver's signature. */
  readonly enrollmentBySignature: readonly Name[];
  /** A new device is let in by a transaction that the approver has sent. */
  readonly enrollmentByTransaction: readonly Name[];
  /** Keys change on chain by a transaction that no service has to do with. */
  readonly chainChange: readonly Name[];
  /** Something is asked for that waits, and is signed after its delay. */
  readonly timeLock: readonly Name[];
  /** An account is frozen, and what was signed for it voided. */
  readonly freeze: readonly Name[];
  /** What the paymaster paid for is told to the signer's budgets: some time after whatever way it was paid on. */
  readonly settlement?: readonly Name[];
  /** An account is changed on chain by no transaction of ours; absent where the program has no part in it. */
  readonly chainAlert?: readonly Name[];
  /** An account's server key is rotated; absent where the program has no part in it. */
  readonly rotateServerKey?: readonly Name[];
}

/**
 * The named places of a service at which a test may stop or kill it; `service` and the name are told to the controller as "auth/claimed". The closed lists are the
 * matrix of the fault tests. Without a controller a place costs one comparison.
 */
export function defineFaultPoints<Name extends string>(service: string, _points: FaultPoints<Name>) {
  return (name: Name): Promise<void> | undefined => (reach === undefined ? undefined : reach(`${service}/${name}`));
}

/** Reports each place that is reached to the controller that listens on this Unix socket. For tests only. */
export function enableFaultPoints(socketPath: string): void {
  reach = reporter(socketPath);
}

/** For tests of this package: no process is ever disabled again. */
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
    // A controller that is gone holds nobody up.
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

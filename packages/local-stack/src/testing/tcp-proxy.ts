import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { seededRandom } from "./seeded-random.ts";

/** What the hop does with bytes at the moment, on connections old and new. */
export type TcpMode =
  | { kind: "pass" }
  /** Every piece comes later, by `ms` and up to `jitterMs` more; the order stays. */
  | { kind: "delay"; ms: number; jitterMs: number }
  /** Connections are accepted, and nothing goes through. */
  | { kind: "stall" }
  /** Bytes that are sent are lost, and their connection is dead from then on; neither end gets any notice. */
  | { kind: "mute" }
  /** Connections are reset, old ones and new ones. */
  | { kind: "drop" }
  /** Each connection is reset once this many bytes of answers have come through. */
  | { kind: "cut"; bytes: number };

export interface TcpProxy {
  /** host:port to dial instead of the target. */
  readonly address: string;
  /** Connections accepted so far. */
  readonly accepted: number;
  /** Connections that are open now. */
  readonly open: number;
  /** What was held back by another mode goes on its way, but for what was lost by muting. */
  pass(): void;
  delay(ms: number, jitterMs?: number): void;
  stall(): void;
  mute(): void;
  drop(): void;
  cutAfter(bytes: number): void;
  close(): Promise<void>;
}

interface Held {
  chunk: Buffer | "end";
  /** By performance.now(). */
  due: number;
}

/** One direction of one connection: bytes wait here until they are due. */
class Lane {
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #held: Held[] = [];
  readonly #dueAt: () => number;
  readonly #permit: (bytes: number) => number;
  readonly #cut: () => void;
  #timer: NodeJS.Timeout | undefined;
  #over = false;

  /** `permit` returns how many of so many bytes may still pass; if not all may, the connection is `cut`. */
  constructor(from: Socket, to: Socket, dueAt: () => number, permit: (bytes: number) => number, cut: () => void) {
    this.#from = from;
    this.#to = to;
    this.#dueAt = dueAt;
    this.#permit = permit;
    this.#cut = cut;
    from.on("data", (chunk) => this.#take(chunk));
    from.on("end", () => this.#take("end"));
    from.on("close", () => clearTimeout(this.#timer));
    to.on("drain", () => from.resume());
  }

  #take(chunk: Buffer | "end"): void {
    const previous = this.#held.at(-1)?.due ?? 0;
    this.#held.push({ chunk, due: Math.max(previous, this.#dueAt()) });
    // A stalled peer must feel it, as it would by a full window.
    if (this.#held.length > 64) this.#from.pause();
    this.forward();
  }

  /** The mode has changed: what waits is due by the new one. */
  reconsider(): void {
    const due = this.#dueAt();
    for (const held of this.#held) held.due = due;
    this.forward();
  }

  forward(): void {
    clearTimeout(this.#timer);
    for (let next = this.#held[0]; next !== undefined; next = this.#held[0]) {
      const wait = next.due - performance.now();
      if (wait > 0) {
        if (Number.isFinite(wait)) this.#timer = setTimeout(() => this.forward(), wait);
        return;
      }
      this.#held.shift();
      if (!this.#send(next.chunk)) return;
    }
    if (!this.#to.writableNeedDrain) this.#from.resume();
  }

  #send(chunk: Buffer | "end"): boolean {
    if (this.#over || this.#to.destroyed) return false;
    if (chunk === "end") {
      this.#to.end();
      return true;
    }
    const permitted = this.#permit(chunk.length);
    if (permitted < chunk.length) {
      // What was permitted arrives, and then the connection breaks in the middle of a message.
      this.#over = true;
      this.#to.write(chunk.subarray(0, permitted), this.#cut);
      return false;
    }
    if (!this.#to.write(chunk)) this.#from.pause();
    return true;
  }
}

class Connection {
  readonly #inbound: Socket;
  readonly #outbound: Socket;
  readonly #lanes: Lane[];
  /** Something was said on it while it was mute. */
  #lost = false;
  /** Bytes of answers that came through since the mode began. */
  #answered = 0;

  constructor(inbound: Socket, target: { host: string; port: number }, mode: () => TcpMode, random: () => number) {
    this.#inbound = inbound;
    this.#outbound = connect({ ...target, allowHalfOpen: true });
    const dueAt = () => {
      const current = mode();
      this.#lost ||= current.kind === "mute";
      if (this.#lost || current.kind === "stall") return Number.POSITIVE_INFINITY;
      return performance.now() + (current.kind === "delay" ? current.ms + random() * current.jitterMs : -1);
    };
    const permit = (bytes: number) => {
      const current = mode();
      if (current.kind !== "cut") return bytes;
      const permitted = Math.min(bytes, Math.max(0, current.bytes - this.#answered));
      this.#answered += permitted;
      return permitted;
    };
    const cut = () => this.reset();
    this.#lanes = [
      new Lane(inbound, this.#outbound, dueAt, (bytes) => bytes, cut),
      new Lane(this.#outbound, inbound, dueAt, permit, cut),
    ];
    for (const socket of [inbound, this.#outbound]) {
      socket.setNoDelay(true);
      // An error is followed by "close", and an error on one side is a reset for the other.
      socket.on("error", () => this.#lost || this.reset());
    }
    this.#outbound.on("close", () => this.#lost || this.#inbound.destroySoon());
    inbound.on("close", () => this.#lost || this.#outbound.destroySoon());
  }

  /** Whether one end may be gone while the other one knows nothing of it. */
  get lost(): boolean {
    return this.#lost;
  }

  modeChanged(to: TcpMode): void {
    this.#answered = 0;
    // Only what is said from now on loses the connection, not what is on its way.
    if (to.kind === "mute") return;
    for (const lane of this.#lanes) lane.reconsider();
  }

  reset(): void {
    for (const socket of [this.#inbound, this.#outbound]) if (!socket.destroyed) socket.resetAndDestroy();
  }
}

/** Stands between a caller and `target` (host:port), on a free port of loopback. `seed` is for the jitter. */
export async function startTcpProxy(target: string, seed = 1): Promise<TcpProxy> {
  const { hostname: host, port } = new URL(`tcp://${target}`);
  const random = seededRandom(seed);
  const connections = new Set<Connection>();
  /** Connections whose caller is gone without notice to the target. */
  const leftBehind = new Set<Connection>();
  let mode: TcpMode = { kind: "pass" };
  let accepted = 0;
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: false }, (socket) => {
    accepted += 1;
    if (mode.kind === "drop") return void socket.on("error", () => undefined).resetAndDestroy();
    const connection = new Connection(socket, { host, port: Number(port) }, () => mode, random);
    connections.add(connection);
    socket.on("close", () => {
      connections.delete(connection);
      if (connection.lost) leftBehind.add(connection);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(0, "127.0.0.1", resolve);
  });
  const become = (next: TcpMode) => {
    mode = next;
    for (const connection of connections) {
      if (next.kind === "drop") connection.reset();
      else connection.modeChanged(next);
    }
  };
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    get accepted() {
      return accepted;
    },
    get open() {
      return connections.size;
    },
    pass: () => become({ kind: "pass" }),
    delay: (ms, jitterMs = 0) => become({ kind: "delay", ms, jitterMs }),
    stall: () => become({ kind: "stall" }),
    mute: () => become({ kind: "mute" }),
    drop: () => become({ kind: "drop" }),
    cutAfter: (bytes) => become({ kind: "cut", bytes }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const connection of [...connections, ...leftBehind]) connection.reset();
      }),
  };
}

/** Starts a proxy before the Postgres server of a connection string; `url` leads through it. */
export async function startDatabaseProxy(databaseUrl: string): Promise<{ proxy: TcpProxy; url: string }> {
  const url = new URL(databaseUrl);
  const proxy = await startTcpProxy(url.host);
  url.host = proxy.address;
  return { proxy, url: url.href };
}

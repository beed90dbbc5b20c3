import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { seededRandom } from "./seeded-random.ts";

/** How the proxy treats bytes, on existing and new connections. */
export type TcpMode =
  | { kind: "pass" }
  /** Delays every chunk by `ms` and up to `jitterMs` more; keeps the order. */
  | { kind: "delay"; ms: number; jitterMs: number }
  /** Accepts connections and holds all bytes back. */
  | { kind: "stall" }
  /** Loses bytes; a connection that lost some stays dead, and neither end gets notice. */
  | { kind: "mute" }
  /** Resets existing and new connections. */
  | { kind: "drop" }
  /** Resets each connection after this many bytes of answers. */
  | { kind: "cut"; bytes: number };

export interface TcpProxy {
  /** host:port to dial instead of the target. */
  readonly address: string;
  /** Connections accepted so far. */
  readonly accepted: number;
  /** Connections that are open now. */
  readonly open: number;
  /** Forwards what another mode held back; what muting lost stays lost. */
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
    // A stalled peer must notice, as it would by a full window.
    if (this.#held.length > 64) this.#from.pause();
    this.forward();
  }

  /** Applies a new mode to the bytes that wait. */
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
      // The permitted bytes arrive, and then the connection breaks in the middle of a message.
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
  /** Whether bytes were sent on it while it was muted. */
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

  /** Whether one end may have closed without notice to the other. */
  get lost(): boolean {
    return this.#lost;
  }

  modeChanged(to: TcpMode): void {
    this.#answered = 0;
    // Only bytes that are sent from now on are lost, not those in flight.
    if (to.kind === "mute") return;
    for (const lane of this.#lanes) lane.reconsider();
  }

  reset(): void {
    for (const socket of [this.#inbound, this.#outbound]) if (!socket.destroyed) socket.resetAndDestroy();
  }
}

/** Starts a proxy before `target` (host:port), on a free port of loopback. `seed` is for the jitter. */
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

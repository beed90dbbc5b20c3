import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A proxy between a client and Postgres that can drop the connection without notifying either side. */
export interface MuteProxy {
  /** The database's URL, by way of this. */
  url: string;
  /** Connections that are used from now on carry nothing any more, old ones and new ones. */
  mute(): void;
  /** New connections carry again; those that were used meanwhile stay lost. */
  speak(): void;
  close(): Promise<void>;
}

/** Starts one before the server of `databaseUrl`, on a free port of loopback. */
export async function startMuteProxy(databaseUrl: string): Promise<MuteProxy> {
  const { hostname, port } = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let mute = false;
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        sockets.delete(socket);
        for (const each of [near, far]) each.destroy();
      });
    }
    let lost = false;
    const pass = (to: Socket) => (data: Buffer) => {
      lost ||= mute;
      if (!lost) to.write(data);
    };
    near.on("data", pass(far));
    far.on("data", pass(near));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(databaseUrl);
  url.hostname = "127.0.0.1";
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    mute() {
      mute = true;
    },
    speak() {
      mute = false;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { seededRandom } from "./seeded-random.ts";
import { startTcpProxy, type TcpProxy } from "./tcp-proxy.ts";

let echo: Server;
let proxy: TcpProxy;
const sockets: Socket[] = [];

beforeEach(async () => {
  echo = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => undefined);
    socket.pipe(socket);
  });
  echo.listen(0, "127.0.0.1");
  await once(echo, "listening");
  proxy = await startTcpProxy(`127.0.0.1:${(echo.address() as AddressInfo).port}`, 7);
});

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await proxy.close();
  await new Promise((resolve) => echo.close(resolve));
});

/** Opens a connection through the proxy that keeps the received bytes. */
async function dial() {
  const [host, port] = proxy.address.split(":") as [string, string];
  const socket = connect({ host, port: Number(port), allowHalfOpen: true });
  sockets.push(socket);
  const received: Buffer[] = [];
  socket.on("data", (chunk) => received.push(chunk));
  const closed = new Promise<string>((resolve) => {
    let why = "end";
    socket.on("error", (error: NodeJS.ErrnoException) => {
      why = error.code ?? "error";
    });
    socket.on("close", () => resolve(why));
  });
  await once(socket, "connect").catch(() => undefined);
  return { socket, closed, received: () => Buffer.concat(received).toString() };
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe("a TCP proxy", () => {
  it("passes everything in both directions, and the end of it", async () => {
    const { socket, received } = await dial();
    const big = "x".repeat(2_000_000);
    socket.write(big);
    socket.end("bye");
    await once(socket, "end");
    expect(received()).toBe(`${big}bye`);
    expect(proxy.accepted).toBe(1);
  });

  it("delays each way, and keeps the order under jitter", async () => {
    proxy.delay(30, 30);
    const { socket, received } = await dial();
    const started = performance.now();
    for (let i = 0; i < 10; i++) {
      socket.write(`${i}`);
      await pause(2);
    }
    await expect.poll(received).toBe("0123456789");
    expect(performance.now() - started).toBeGreaterThan(60);
  });

  it("stalls connections old and new, and lets go of what it held", async () => {
    const old = await dial();
    old.socket.write("before,");
    await expect.poll(old.received).toBe("before,");
    proxy.stall();
    const fresh = await dial();
    for (const { socket } of [old, fresh]) socket.write("during,");
    await pause(50);
    expect([old.received(), fresh.received()]).toEqual(["before,", ""]);
    proxy.pass();
    old.socket.write("after");
    await expect.poll(old.received).toBe("before,during,after");
    await expect.poll(fresh.received).toBe("during,");
  });

  it("loses bytes that are sent while it is mute, and their connection, without notice to either end", async () => {
    const [used, idle] = await Promise.all([dial(), dial()]);
    for (const { socket, received } of [used, idle]) {
      socket.write("before,");
      await expect.poll(received).toBe("before,");
    }
    proxy.mute();
    const fresh = await dial();
    for (const { socket } of [used, fresh]) socket.write("during,");
    await pause(50);
    proxy.pass();
    for (const { socket } of [used, fresh, idle]) socket.write("after");
    await expect.poll(idle.received).toBe("before,after");
    expect([used.received(), fresh.received()]).toEqual(["before,", ""]);
    const standing = Promise.race([used.closed, fresh.closed, pause(50).then(() => "still there")]);
    expect(await standing).toBe("still there");
    // The other end gets no notice when one of them closes.
    const targets = () => new Promise<number>((resolve) => echo.getConnections((_, count) => resolve(count)));
    expect(await targets()).toBe(3);
    used.socket.resetAndDestroy();
    await expect.poll(() => proxy.open).toBe(2);
    await pause(50);
    expect(await targets()).toBe(3);
  });

  it("drops what there is, and what comes", async () => {
    const old = await dial();
    old.socket.write("x");
    await expect.poll(old.received).toBe("x");
    proxy.drop();
    expect(await old.closed).toBe("ECONNRESET");
    expect(await (await dial()).closed).toBe("ECONNRESET");
    expect(proxy.open).toBe(0);
    proxy.pass();
    const later = await dial();
    later.socket.write("y");
    await expect.poll(later.received).toBe("y");
  });

  it("cuts after n bytes of the answer", async () => {
    proxy.cutAfter(5);
    const { socket, closed, received } = await dial();
    socket.write("123");
    await expect.poll(received).toBe("123");
    socket.write("4567");
    await closed;
    expect(received()).toBe("12345");
  });

  it("refuses by a reset where nobody stands behind it", async () => {
    const nowhere = await startTcpProxy("127.0.0.1:1");
    const [host, port] = nowhere.address.split(":") as [string, string];
    const socket = connect({ host, port: Number(port) });
    sockets.push(socket);
    const [error] = (await once(socket, "error")) as [NodeJS.ErrnoException];
    expect(error.code).toBe("ECONNRESET");
    await nowhere.close();
  });
});

it("the same seed gives the same numbers, another one others", () => {
  const take = (seed: number) => Array.from({ length: 5 }, seededRandom(seed));
  expect(take(3)).toEqual(take(3));
  expect(take(3)).not.toEqual(take(4));
  for (const number of take(5)) expect(number >= 0 && number < 1).toBe(true);
});

import { randomInt } from "node:crypto";
import { createServer } from "node:net";

// Below the ports that systems give to outgoing connections: a process that is started again must find its own free.
const lowest = 12_000;
const highest = 32_000;

function hold(port: number): Promise<{ port: number; close(): Promise<void> } | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.on("error", () => resolve(undefined));
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () =>
      resolve({ port, close: () => new Promise((closed) => server.close(() => closed())) }),
    );
  });
}

/** Ports on loopback that were free a moment ago, all held at once so that none is given twice. */
export async function freePorts(count: number): Promise<number[]> {
  const held = [];
  while (held.length < count) {
    const one = await hold(randomInt(lowest, highest));
    if (one) held.push(one);
  }
  await Promise.all(held.map((one) => one.close()));
  return held.map((one) => one.port);
}

/** A port on loopback that was free a moment ago. */
export async function freePort(): Promise<number> {
  const [port] = await freePorts(1);
  return port as number;
}

/** Whether a program could listen on this port now; an address of ::1 counts as well, since browsers try it for localhost. */
export function isFree(port: number, host = "127.0.0.1"): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.on("error", (error: NodeJS.ErrnoException) =>
      resolve(error.code !== "EADDRINUSE" && error.code !== "EACCES"),
    );
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

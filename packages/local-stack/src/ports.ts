import { randomInt } from "node:crypto";
import { createServer, type Server } from "node:net";

// Below the ports that systems give to outgoing connections: a process that is started again must find its
// own port free.
const LOWEST = 12_000;
const BLOCK = 100;
const BLOCKS = 200;

/** Listens on a port of loopback, or reports that it cannot. The listener keeps no process alive. */
function hold(port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer().unref();
    server.once("error", () => resolve(undefined));
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => resolve(server));
  });
}

/** Returns whether a program could listen on this port of 127.0.0.1 now. */
export async function isFree(port: number): Promise<boolean> {
  const server = await hold(port);
  if (!server) return false;
  await new Promise((closed) => server.close(closed));
  return true;
}

/**
 * Yields each port only once in this process, in blocks that no other process uses: a process owns a block as
 * long as it listens on the block's first port. Several stacks start at the same time, and a port that was
 * merely free a moment ago would be given to two of them sooner or later.
 */
async function* portsOfOwnBlocks(): AsyncGenerator<number, undefined> {
  for (let attempt = 0; attempt < 10 * BLOCKS; attempt++) {
    const first = LOWEST + BLOCK * randomInt(BLOCKS);
    if (!(await hold(first))) continue;
    for (let port = first + 1; port < first + BLOCK; port++) if (await isFree(port)) yield port;
  }
}

const ownPorts = portsOfOwnBlocks();

/**
 * Returns ports on loopback that are free, and that nobody else who asks here is given while this process
 * lives.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    const { value } = await ownPorts.next();
    if (value === undefined) throw new Error(`no block of ports from ${LOWEST} on is free`);
    ports.push(value);
  }
  return ports;
}

export async function freePort(): Promise<number> {
  const [port] = await freePorts(1);
  return port as number;
}

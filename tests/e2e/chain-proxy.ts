import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A proxy in front of an access node. */
export interface ChainProxy {
  /** host:port to dial instead of the node. */
  readonly address: string;
  /** Requests that hang and whose clients still wait. */
  hanging(): number;
  /** Holds scripts that contain this text; forwards all other requests. */
  hang(text: string): void;
  /** Forwards all held requests to the node. */
  letGo(): void;
  /** Closes every connection. */
  refuse(): void;
  close(): Promise<void>;
}

const SCRIPTS = "/v1/scripts";

async function bodyOf(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Starts a proxy in front of the node at host:port. */
export async function startChainProxy(node: string): Promise<ChainProxy> {
  const [host, port] = node.split(":");
  let hangs: string | undefined;
  let refuses = false;
  const held = new Map<ServerResponse, () => void>();

  const isHeld = (path: string, body: Buffer): boolean => {
    if (hangs === undefined || !path.startsWith(SCRIPTS)) return false;
    const { script } = JSON.parse(body.toString()) as { script: string };
    return Buffer.from(script, "base64").toString().includes(hangs);
  };

  function forward({ method, url, headers }: IncomingMessage, body: Buffer, response: ServerResponse): void {
    const outgoing = request({ host, port, method, path: url, headers, agent: false }, (incoming) => {
      response.writeHead(incoming.statusCode!, incoming.headers);
      incoming.pipe(response);
    });
    outgoing.on("error", () => response.destroy());
    outgoing.end(body);
  }

  const server = createServer(async (incoming, response) => {
    if (refuses) return void response.destroy();
    const body = await bodyOf(incoming);
    const go = () => forward(incoming, body, response);
    if (!isHeld(incoming.url!, body)) return go();
    held.set(response, go);
    response.once("close", () => held.delete(response));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    hanging: () => held.size,
    hang: (text) => {
      hangs = text;
    },
    letGo() {
      hangs = undefined;
      for (const go of held.values()) go();
      held.clear();
    },
    refuse() {
      refuses = true;
      server.closeAllConnections();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

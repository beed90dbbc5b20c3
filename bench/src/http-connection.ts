import { connect, type Socket } from "node:net";

export interface HttpAnswer {
  status: number;
  body: string;
}

export interface HttpRequest {
  method: "GET" | "POST";
  path: string;
  token?: string | undefined;
  /** JSON text. */
  body?: string;
}

/**
 * One kept-alive HTTP/1.1 connection with one request at a time. It reads only a status line, and a body with
 * Content-Length or in chunks, so that the load generator costs less than what it measures.
 */
export class HttpConnection {
  readonly #host: string;
  readonly #port: number;
  #socket: Socket | undefined;
  #received = "";
  #resolve: ((answer: HttpAnswer) => void) | undefined;
  #reject: ((error: Error) => void) | undefined;

  constructor(baseUrl: string) {
    const { hostname, port } = new URL(baseUrl);
    this.#host = hostname === "localhost" ? "127.0.0.1" : hostname;
    this.#port = Number(port);
  }

  async send({ method, path, token, body }: HttpRequest): Promise<HttpAnswer> {
    const socket = await this.#connected();
    const authorization = token === undefined ? "" : `authorization: Bearer ${token}\r\n`;
    const content =
      body === undefined
        ? "\r\n"
        : `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      socket.write(`${method} ${path} HTTP/1.1\r\nhost: localhost:${this.#port}\r\n${authorization}${content}`);
    });
  }

  close(): void {
    this.#socket?.destroy();
  }

  #connected(): Promise<Socket> {
    if (this.#socket !== undefined && !this.#socket.destroyed) return Promise.resolve(this.#socket);
    return new Promise((resolve, reject) => {
      const socket = connect(this.#port, this.#host);
      socket.setNoDelay(true);
      socket.setEncoding("latin1");
      socket.once("connect", () => resolve(socket));
      socket.once("error", reject);
      socket.on("data", (chunk: string) => this.#read(chunk));
      socket.on("close", () => this.#reject?.(new Error("the connection was closed")));
      this.#socket = socket;
    });
  }

  #read(chunk: string): void {
    this.#received += chunk;
    const headEnd = this.#received.indexOf("\r\n\r\n");
    if (headEnd < 0) return;
    const head = this.#received.slice(0, headEnd);
    const rest = this.#received.slice(headEnd + 4);
    const chunked = /\r\ntransfer-encoding: chunked/i.test(head);
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    const body = chunked ? joinChunks(rest) : rest.length < length ? undefined : rest;
    if (body === undefined) return;
    this.#received = "";
    this.#resolve?.({ status: Number(head.slice(9, 12)), body });
  }
}

/** Returns the body that is in these chunks; undefined while the last one is missing. */
function joinChunks(text: string): string | undefined {
  let body = "";
  for (let at = 0; ; ) {
    const sizeEnd = text.indexOf("\r\n", at);
    if (sizeEnd < 0) return undefined;
    const size = Number.parseInt(text.slice(at, sizeEnd), 16);
    const end = sizeEnd + 2 + size;
    if (text.length < end + 2) return undefined;
    if (size === 0) return body;
    body += text.slice(sizeEnd + 2, end);
    at = end + 2;
  }
}

/** Returns the body of a 200 answer. Throws on any other status. */
export function expectOk({ status, body }: HttpAnswer): string {
  if (status !== 200) throw new Error(`status ${status}: ${body.slice(0, 300)}`);
  return body;
}

import { connect, type Socket } from "node:net";
import { stack } from "../support/person.ts";
import type { RawAnswer } from "../support/raw-request.ts";

const { port, host } = new URL(stack.gateway);

/** The `Host` header that requests to the gateway need. */
export const HOST = `Host: ${host}`;

export interface WireOptions {
  /** Closes the client's half after the last bytes. */
  half?: boolean;
  /** Milliseconds without a further byte from the server after which reading stops. */
  quietMs?: number;
  /** Milliseconds after which reading stops in any case. */
  limitMs?: number;
}

/** The bytes that were received, and whether the server closed the connection. */
export interface Wire {
  bytes: string;
  answers: RawAnswer[];
  closed: boolean;
  ms: number;
}

export function open(): Socket {
  const socket = connect({ port: Number(port), host: "127.0.0.1", allowHalfOpen: true });
  socket.on("error", () => undefined);
  return socket;
}

/** Writes bytes unchanged and reads until the server closes the connection or is quiet after an answer. */
export function exchange(bytes: string | Buffer, options: WireOptions = {}): Promise<Wire> {
  const { half = false, quietMs = 400, limitMs = 5_000 } = options;
  const socket = open();
  const started = performance.now();
  let received = "";
  return new Promise((resolve, reject) => {
    const end = (closed: boolean) => {
      clearTimeout(quiet);
      clearTimeout(limit);
      socket.destroy();
      try {
        resolve({ bytes: received, answers: parseAnswers(received), closed, ms: performance.now() - started });
      } catch (error) {
        reject(error);
      }
    };
    let quiet = setTimeout(() => undefined);
    const limit = setTimeout(() => end(false), limitMs);
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
      clearTimeout(quiet);
      quiet = setTimeout(() => end(false), quietMs);
    });
    socket.on("end", () => end(true)).on("close", () => end(true));
    socket.on("connect", () => {
      socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes);
      if (half) socket.end();
    });
  });
}

/** Parses the answers that a server sent, one after the other. */
export function parseAnswers(received: string): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = received;
  while (rest !== "") {
    const head = /^HTTP\/1\.1 (\d{3}) [^\r\n]*\r\n((?:[^\r\n]+\r\n)*)\r\n/.exec(rest);
    if (!head) throw new Error(`no answer: ${JSON.stringify(rest.slice(0, 200))}`);
    rest = rest.slice(head[0].length);
    const headers: Record<string, string> = {};
    for (const line of head[2]!.split("\r\n").filter(Boolean)) {
      const colon = line.indexOf(":");
      headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
    }
    let text = "";
    if (headers["transfer-encoding"] === "chunked") [text, rest] = readChunks(rest);
    else {
      const length = Number(headers["content-length"] ?? 0);
      text = rest.slice(0, length);
      rest = rest.slice(length);
    }
    const json = /json/.test(headers["content-type"] ?? "") && text !== "";
    answers.push({ status: Number(head[1]), headers, text, body: json ? JSON.parse(text) : undefined, ms: 0 });
  }
  return answers;
}

function readChunks(received: string): [text: string, rest: string] {
  let text = "";
  let rest = received;
  for (;;) {
    const [line, size] = /^([0-9a-f]+)\r\n/i.exec(rest) ?? [];
    if (line === undefined) throw new Error(`no chunk: ${JSON.stringify(rest.slice(0, 200))}`);
    const length = Number.parseInt(size!, 16);
    text += rest.slice(line.length, line.length + length);
    rest = rest.slice(line.length + length + 2);
    if (length === 0) return [text, rest];
  }
}

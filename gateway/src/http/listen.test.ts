import { once } from "node:events";
import { Agent, type IncomingMessage, type RequestListener, request, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type HttpListener, listenHttp } from "./listen.ts";

/** Milliseconds for which a closing server still answers here: enough on a busy machine. */
const ANSWERS_MS = 2_000;

describe("listenHttp", () => {
  let listener: HttpListener;
  beforeAll(async () => {
    listener = await listenHttp((_request, response) => void response.end("ok"), "127.0.0.1:0");
  });
  afterAll(() => listener.close(0));

  async function raw(text: string): Promise<string> {
    const socket = connect(listener.port, "127.0.0.1");
    socket.write(text);
    let answer = "";
    for await (const chunk of socket) answer += chunk;
    return answer;
  }

  it("answers broken requests with problem documents", async () => {
    expect(await raw("nonsense\r\n\r\n")).toMatch(
      /^HTTP\/1\.1 400 [\s\S]*application\/problem\+json[\s\S]*"status":400/,
    );
    expect(await raw("nonsense\r\n\r\n")).toMatch(
      /X-Request-Id: ([\w-]{36})[\s\S]*"instance":"\1","error":"InvalidRequest"/,
    );
    expect(await raw(`GET / HTTP/1.1\r\nX: ${"x".repeat(20_000)}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 431 /);
  });

  it("does not answer a broken request while an earlier one is running", async () => {
    const slow = await listenHttp(
      (_request, response) => void setTimeout(() => response.end("late"), 200),
      "127.0.0.1:0",
    );
    const socket = connect(slow.port, "127.0.0.1");
    socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\nnonsense\r\n\r\n");
    let answer = "";
    for await (const chunk of socket) answer += chunk;
    expect(answer).not.toContain("400");
    await slow.close(0);
  });

  it("takes each of many requests that wait on one connection as fast as the first", async () => {
    const [count, waiting] = [20_000, [] as ServerResponse[]];
    const other = await listenHttp((_request, response) => void waiting.push(response), "127.0.0.1:0");
    const socket = connect(other.port, "127.0.0.1").on("error", () => undefined);
    const begun = process.cpuUsage();
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(count));
    await expect.poll(() => waiting.length).toBe(count);
    // Not the time on the clock, of which other processes have a share.
    expect(process.cpuUsage(begun).user).toBeLessThan(3_000_000);
    socket.destroy();
    await other.close(0);
  });

  it("answers 408 to clients that do not send their headers in time", async () => {
    expect(await raw("GET / HTTP/1.1\r\nHost: x\r\n")).toMatch(/^HTTP\/1\.1 408 /);
  }, 10_000);

  it("closes a connection that was opened beforehand and never used without an answer", async () => {
    // Its client would take that as the answer to the request that it sends at the same moment.
    expect(await raw("")).toBe("");
  }, 10_000);

  it("ends connections whose client reads nothing of an answer, and no others", async () => {
    const ends: string[] = [];
    const handle: RequestListener = (request, response) => {
      response.once("close", () => ends.push(`${request.url} ${response.writableFinished}`));
      if (request.url === "/slow") setTimeout(() => response.end(), 200);
      else response.end(Buffer.alloc(64 * 1024 * 1024));
    };
    const other = await listenHttp(handle, "127.0.0.1:0", undefined, {}, 500);
    const stuck = connect(other.port, "127.0.0.1").on("error", () => undefined);
    stuck.write("GET /unread HTTP/1.1\r\nHost: x\r\n\r\n");
    stuck.pause();
    await fetch(`http://127.0.0.1:${other.port}/slow`);
    await expect.poll(() => ends.toSorted()).toEqual(["/slow true", "/unread false"]);
    stuck.destroy();
    await other.close(0);
  });

  it("lets running requests finish when it closes, and takes no more", async () => {
    const other = await listenHttp(
      (_request, response) => void setTimeout(() => response.end("late"), 100),
      "127.0.0.1:0",
    );
    const url = `http://127.0.0.1:${other.port}/`;
    const running = fetch(url);
    await new Promise((resolve) => setTimeout(resolve, 30));
    await other.close(5_000);
    const answer = await running;
    // Else the client sends its next request on a connection that closes at the same moment.
    expect([answer.headers.get("connection"), await answer.text()]).toEqual(["close", "late"]);
    await expect(fetch(url)).rejects.toThrow();
  });

  it("answers on idle connections when it closes, and then asks for another connection", async () => {
    const other = await listenHttp((_request, response) => void response.end("ok"), "127.0.0.1:0");
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const get = () =>
      new Promise<IncomingMessage>((resolve, reject) => {
        const url = `http://127.0.0.1:${other.port}/`;
        request(url, { agent }, (response) => resolve(response.resume()))
          .on("error", reject)
          .end();
      });
    expect((await get()).headers.connection).toBe("keep-alive");
    const closed = other.close(ANSWERS_MS * 10);
    expect((await get()).headers.connection).toBe("close");
    await closed;
    await expect(get()).rejects.toThrow("ECONNREFUSED");
  });

  it("keeps other idle connections open when one is answered while it closes", async () => {
    const other = await listenHttp((_request, response) => void response.end("ok"), "127.0.0.1:0");
    const socket = connect(other.port, "127.0.0.1");
    const get = async () => {
      socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
      return String(await once(socket, "data"));
    };
    expect(await get()).toContain("Connection: keep-alive");
    // New connections are taken for a tenth of that time.
    const closed = other.close(ANSWERS_MS * 10);
    await fetch(`http://127.0.0.1:${other.port}/`).then((response) => response.text());
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await get()).toContain("Connection: close");
    await closed;
  });

  it("rejects a port that is taken", async () => {
    await expect(listenHttp(() => {}, `127.0.0.1:${listener.port}`)).rejects.toMatchObject({ code: "EADDRINUSE" });
  });
});

import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import { isPostgresLost } from "@countersign/core";
import type pg from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createPool } from "./pool.ts";

const QUERY_MS = 200;

/** Encodes a message of the Postgres protocol: its type, its length including itself, its bytes. */
function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}
const WELCOME = Buffer.concat([message("R", Buffer.alloc(4)), message("Z", Buffer.from("I"))]);
const SHUTDOWN = message("E", Buffer.from("SFATAL\0C57P01\0Mterminating connection\0\0"));
const VIOLATION = message("E", Buffer.from("SERROR\0C23505\0Mit is there\0\0"));

/**
 * The server sends a greeting, then `answer` to the first query and nothing else; it never closes a
 * connection.
 */
let answer: Buffer;
let greeting: Buffer;
let pool: pg.Pool;
let client: pg.PoolClient;
const sockets: Socket[] = [];
const server = createServer({ allowHalfOpen: true }, (socket) => {
  sockets.push(socket);
  socket.on("error", () => undefined);
  socket.once("data", () => {
    socket.write(greeting);
    socket.once("data", () => socket.write(answer));
  });
});

describe("a connection of a pool", () => {
  beforeEach(async () => {
    answer = Buffer.alloc(0);
    greeting = WELCOME;
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    pool = createPool(`postgresql://nobody@127.0.0.1:${port}/none`, { timeouts: { queryMs: QUERY_MS } });
    client = await pool.connect();
    client.on("error", () => undefined);
  });

  afterEach(async () => {
    client.release(true);
    void pool.end();
    const closed = once(server, "close");
    server.close();
    for (const socket of sockets.splice(0)) socket.destroy();
    await closed;
  });

  const lost = expect.objectContaining({ message: "Query read timeout" });

  it("closes at the first query without an answer; queries behind it fail too", async () => {
    const outcomes = await Promise.allSettled([client.query("SELECT 1"), client.query("SELECT 2")]);
    expect(outcomes).toEqual([
      { status: "rejected", reason: lost },
      { status: "rejected", reason: lost },
    ]);
    expect(outcomes.every((each) => isPostgresLost((each as PromiseRejectedResult).reason))).toBe(true);
  });

  it("closes too when the connection was idle for longer than the limit before", async () => {
    await setTimeout(3 * QUERY_MS);
    await expect(client.query("SELECT 1")).rejects.toEqual(lost);
  });

  it("closes too where an error was sent without ready-for-query", async () => {
    answer = VIOLATION;
    await expect(client.query({ text: "INSERT", values: [] })).rejects.toMatchObject({ code: "23505" });
    await expect(client.query("ROLLBACK")).rejects.toThrow("Query read timeout");
  });

  it("ends no process where the server ends the connection before the first query", async () => {
    greeting = Buffer.concat([WELCOME, SHUTDOWN]);
    const lostAtOnce = await pool.connect();
    await expect(lostAtOnce.query("SELECT 1")).rejects.toThrow();
    lostAtOnce.release(true);
  });

  it("calls a callback exactly once", async () => {
    const errors: unknown[] = [];
    await new Promise<void>((resolve) => {
      client.query("SELECT 1", (error: unknown) => {
        errors.push(error);
        void setTimeout(2 * QUERY_MS).then(resolve);
      });
    });
    expect(errors).toEqual([lost]);
  });

  it("stays open when a query never began", async () => {
    expect(() => client.query(null as never)).toThrow(TypeError);
    let hasEnded = false;
    client.once("end", () => {
      hasEnded = true;
    });
    await setTimeout(2 * QUERY_MS);
    expect(hasEnded).toBe(false);
  });
});

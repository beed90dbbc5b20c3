import { type AddressInfo, createServer } from "node:net";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { AppError, toAppError } from "./app-error.ts";
import { isPostgresLost } from "./postgres-lost.ts";

const withCode = (code: string, message = "it failed") => Object.assign(new Error(message), { code });

describe("Postgres is lost", () => {
  it.each([
    ["Prisma, not reachable", withCode("P1001")],
    ["Prisma, closed", withCode("P1017")],
    ["Prisma, no connection in time", withCode("P2024")],
    ["Prisma's start", Object.assign(new Error("x"), { errorCode: "P1001" })],
    ["Prisma's adapter", Object.assign(new Error("x"), { cause: { kind: "ConnectionClosed" } })],
    [
      "a raw query of Prisma's",
      Object.assign(withCode("P2010"), { meta: { driverAdapterError: { cause: { kind: "ConnectionClosed" } } } }),
    ],
    ["the server's shutdown", withCode("57P01")],
    ["a connection that failed", withCode("08006")],
    ["a server that only reads, before or after a failover", withCode("25006")],
    ["the server's full disk", withCode("53100")],
    ["pg's pool", new Error("timeout exceeded when trying to connect")],
    ["the server's timeout of an idle transaction", withCode("25P03")],
    ["a connection that we ended", new Error("Client was closed and is not queryable")],
    ["pg's query timeout", new Error("Query read timeout")],
    ["a cause further down", new Error("outside", { cause: new Error("Connection terminated unexpectedly") })],
  ])("by %s", (_, error) => {
    expect(isPostgresLost(error)).toBe(true);
    expect(toAppError(error)).toMatchObject({ reason: "Unavailable", cause: error });
  });

  it.each([
    ["a unique violation", withCode("23505")],
    ["Prisma's unique violation", withCode("P2002")],
    [
      "a raw query's mistake",
      Object.assign(withCode("P2010"), {
        meta: { driverAdapterError: { cause: { kind: "postgres", code: "42601" } } },
      }),
    ],
    ["a bug", new TypeError("undefined is not a function")],
    ["nothing", undefined],
    ["a text", "Connection terminated"],
  ])("not by %s", (_, error) => {
    expect(isPostgresLost(error)).toBe(false);
    expect(toAppError(error)).toMatchObject({ reason: "Internal" });
  });

  it("an AppError is returned unchanged", () => {
    const error = new AppError("AccountExists", { cause: withCode("ECONNRESET") });
    expect(toAppError(error)).toBe(error);
  });

  it("circular causes end", () => {
    const error = new Error("round");
    error.cause = error;
    expect(isPostgresLost(error)).toBe(false);
  });

  it("recognizes the errors of pg itself: refused, reset and cut off", async () => {
    const server = createServer((socket) => socket.once("data", () => socket.destroy()));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const connect = () => new pg.Client({ host: "127.0.0.1", port, user: "nobody" }).connect().catch((error) => error);
    expect(isPostgresLost(await connect())).toBe(true);
    await new Promise((resolve) => server.close(resolve));
    expect(isPostgresLost(await connect())).toBe(true);
  });
});

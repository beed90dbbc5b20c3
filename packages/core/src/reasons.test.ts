import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { AppError, GRPC_CODES, isAppError, REASONS } from "./index.ts";

const proto = readFileSync(new URL("../../../proto/errors/v1/reasons.proto", import.meta.url), "utf8");
const option =
  /^ {2}REASON_([A-Z0-9_]+) = (\d+) \[\(mapping\) = \{name: "(\w+)", grpc_code: (\d+), http_status: (\d+)\}\];$/;

interface Published {
  constant: string;
  number: number;
  name: string;
  grpc: number;
  http: number;
}

function published(): Published[] {
  const values = proto.split("\n").filter((line) => /^ {2}REASON_/.test(line) && !line.includes("REASON_UNSPECIFIED"));
  return values.map((line) => {
    const [, constant, number, name, grpc, http] = option.exec(line) ?? [];
    if (constant === undefined || name === undefined) throw new Error(`not the form of a reason: ${line}`);
    return { constant, number: Number(number), name, grpc: Number(grpc), http: Number(http) };
  });
}

test("the table and reasons.proto say the same", () => {
  const fromProto = Object.fromEntries(published().map(({ name, grpc, http }) => [name, { grpc, http }]));
  const fromTable = Object.fromEntries(
    Object.entries(REASONS).map(([name, { grpc, http }]) => [name, { grpc: GRPC_CODES[grpc], http }]),
  );
  expect(fromProto).toEqual(fromTable);
});

test("names follow from constants, and no number is used twice", () => {
  for (const { constant, name } of published()) {
    expect(name.replace(/(?<=[a-z0-9])([A-Z])/g, "_$1").toUpperCase()).toBe(constant);
  }
  const numbers = published().map(({ number }) => number);
  expect(new Set(numbers).size).toBe(numbers.length);
});

test("an AppError has its reason's title where it says nothing else, and keeps its cause", () => {
  const cause = new Error("inside");
  const error = new AppError("AccountExists", { cause });
  expect(error.detail).toBe(REASONS.AccountExists.title);
  expect(error.cause).toBe(cause);
  expect(isAppError(error, "AccountExists")).toBe(true);
  expect(isAppError(error, "Internal")).toBe(false);
  expect(isAppError(cause)).toBe(false);
});

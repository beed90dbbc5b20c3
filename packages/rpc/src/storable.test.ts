import { SettleReservationsRequest } from "@countersign/proto/signer/v1/budgets.ts";
import { describe, expect, it } from "vitest";
import { requireStorable } from "./storable.ts";

const bytesWithNul = { bytes: Buffer.of(0), other: Uint8Array.of(0) };

/** A request as its sender encodes it: field 2, a Timestamp with these seconds. */
const withMark = (...seconds: number[]) =>
  SettleReservationsRequest.decode(Uint8Array.of(0x12, seconds.length + 1, 0x08, ...seconds));

describe("a request", () => {
  it("may have NUL in bytes, and any other text and time", () => {
    requireStorable({ ...bytesWithNul, text: "\u0001\ud800", none: undefined, list: ["", "a"], time: new Date(0) });
    requireStorable(withMark(0x01));
    requireStorable(undefined);
  });

  it.each([
    ["a text with NUL", { text: "a\0b" }, "/text"],
    ["one in a list", { ...bytesWithNul, list: ["", "\0"] }, "/list/1"],
    ["one inside", { a: { b: [{ c: "\0" }] } }, "/a/b/0/c"],
    ["a time that JavaScript cannot have", withMark(...Array(8).fill(0xff), 0x7f), "/mark"],
    ["a time before Christ", { time: new Date("-000001-01-01T00:00:00Z") }, "/time"],
    ["a time of the year 10000", { time: new Date("+010000-01-01T00:00:00Z") }, "/time"],
  ])("is refused with %s", (_, request, pointer) => {
    expect(() => requireStorable(request)).toThrow(
      expect.objectContaining({ reason: "InvalidRequest", fields: [expect.objectContaining({ pointer })] }),
    );
  });
});

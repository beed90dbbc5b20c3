import { describe, expect, it } from "vitest";
import { MAX_JSON_DEPTH, nestingDepth, parseJson } from "./body.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

describe("nestingDepth", () => {
  it.each([
    ["1", 0],
    ['{"a":[{}]}', 3],
    ['"[[[["', 0],
    ['["\\"[[", "}"]', 1],
    ["[][][]", 1],
  ])("of %s is %i", (text, depth) => {
    expect(nestingDepth(text)).toBe(depth);
  });
});

describe("parseJson", () => {
  it("takes a body as deep as allowed, and none deeper", () => {
    const nested = (depth: number) => bytes("[".repeat(depth) + "]".repeat(depth));
    expect(parseJson(nested(MAX_JSON_DEPTH))).toEqual(expect.any(Array));
    expect(() => parseJson(nested(MAX_JSON_DEPTH + 1))).toThrow(expect.objectContaining({ reason: "InvalidRequest" }));
  });

  it("leaves out members that are null, at any depth, and keeps the elements of arrays", () => {
    const body = '{"a":null,"b":{"c":null,"d":"null"},"e":[null,{"f":null}],"__proto__":null}';
    expect(parseJson(bytes(body))).toEqual({ b: { d: "null" }, e: [null, {}] });
    expect(Object.keys(parseJson(bytes(body)) as object)).toEqual(["b", "e"]);
    expect(parseJson(bytes("null"))).toBeUndefined();
  });

  it.each([bytes("{"), bytes("{'a':1}"), bytes(""), new Uint8Array([0x22, 0xff, 0x22])])("refuses %s", (body) => {
    expect(() => parseJson(body)).toThrow(expect.objectContaining({ reason: "InvalidRequest" }));
  });
});

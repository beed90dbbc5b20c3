import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";

/** Loads the module where there is no TextDecoder, or another one. */
async function withTextDecoder(decoder?: unknown) {
  vi.stubGlobal("TextDecoder", decoder);
  vi.resetModules();
  return import("./utf8.ts");
}

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

const textOf = (decode: (bytes: Uint8Array) => string, bytes: Uint8Array): string | undefined => {
  try {
    return decode(bytes);
  } catch {
    return undefined;
  }
};

/** As substitutes for React Native: one refuses options, the other ignores them. */
class RefusingDecoder {
  constructor(_label: string, { fatal = false } = {}) {
    if (fatal) throw new RangeError("fatal is not supported");
  }
}
class LenientDecoder {
  decode = () => "\ufffd";
}

describe("UTF-8 without TextDecoder", () => {
  it.each([RefusingDecoder, LenientDecoder])("does not use one that is not strict", async (decoder) => {
    const { decodeUtf8 } = await withTextDecoder(decoder);
    expect(decodeUtf8(Uint8Array.of(0xc3, 0xa9))).toBe("é");
    expect(() => decodeUtf8(Uint8Array.of(0xff))).toThrow(URIError);
  });

  it("is what TextDecoder says, also of bytes that are not valid", async () => {
    const native = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    const { decodeUtf8 } = await withTextDecoder();
    const mixed = fc.oneof(
      fc.uint8Array({ maxLength: 12 }),
      fc.string({ unit: "binary" }).map((text) => new TextEncoder().encode(text)),
      fc
        .array(
          fc.constantFrom(0x25, 0x41, 0xc3, 0xa9, 0xe2, 0x82, 0xac, 0xed, 0xa0, 0x80, 0xf0, 0x9f, 0xef, 0xbb, 0xbf),
        )
        .map((bytes) => Uint8Array.from(bytes)),
    );
    fc.assert(
      fc.property(mixed, (bytes) => {
        expect(textOf(decodeUtf8, bytes)).toBe(textOf((given) => native.decode(given), bytes));
      }),
      { numRuns: 2_000 },
    );
  });

  it("can be cut anywhere: what is incomplete is kept for the next piece", async () => {
    const { decodeUtf8, incompleteUtf8 } = await withTextDecoder();
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.nat(40), (text, at) => {
        const bytes = new TextEncoder().encode(text);
        const cut = Math.min(at, bytes.length);
        const first = bytes.subarray(0, cut);
        const kept = incompleteUtf8(first);
        const rest = bytes.subarray(cut - kept);
        expect(decodeUtf8(first.subarray(0, cut - kept)) + decodeUtf8(rest)).toBe(text);
        expect(kept).toBeLessThan(4);
      }),
    );
  });
});

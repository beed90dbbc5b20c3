import { expect, it } from "vitest";
import { formatTraceParent, parseTraceParent } from "./trace-parent.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

it("a header is read and written", () => {
  const header = `00-${TRACE}-${SPAN}-00`;
  expect(parseTraceParent(header)).toEqual({ traceId: TRACE, spanId: SPAN, flags: "00" });
  expect(formatTraceParent(parseTraceParent(header)!)).toBe(header);
});

it.each([
  undefined,
  "",
  "junk",
  `01-${TRACE}-${SPAN}-01`,
  `00-${"0".repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${"0".repeat(16)}-01`,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `00-${TRACE}-${SPAN}-01-more`,
  `00-${TRACE}-${SPAN}-01\n`,
])("%j names no position", (header) => {
  expect(parseTraceParent(header)).toBeUndefined();
});

import { describe, expect, it } from "vitest";
import { identifyRequest } from "./request-id.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";

describe("identifyRequest", () => {
  it("takes a sane request id", () => {
    expect(identifyRequest({ "x-request-id": "phone-1.2_3" }).requestId).toBe("phone-1.2_3");
  });

  it.each(["", "short", "a b c d e f", "x\u0000xxxxxxxx", "éééééééé", "x".repeat(65), "<script>xx"])(
    "makes its own instead of %j",
    (given) => {
      expect(identifyRequest({ "x-request-id": given }).requestId).toMatch(/^[0-9a-f-]{36}$/);
    },
  );

  it("continues the caller's trace with a span of its own", () => {
    const { trace } = identifyRequest({ traceparent: `00-${traceId}-00f067aa0ba902b7-00` });
    expect(trace).toMatchObject({ traceId, flags: "00" });
    expect(trace.spanId).not.toBe("00f067aa0ba902b7");
  });

  it.each(["", `00-${"0".repeat(32)}-00f067aa0ba902b7-01`, "junk"])("starts a trace where %j came", (traceparent) => {
    expect(identifyRequest({ traceparent }).trace.traceId).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
  });
});

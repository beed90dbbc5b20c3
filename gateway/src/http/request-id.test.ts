import { describe, expect, it } from "vitest";
import { identifyRequest } from "./request-id.ts";

const trace = "4bf92f3577b34da6a3ce929d0e0e4736";

describe("identifyRequest", () => {
  it("takes a sane request id", () => {
    expect(identifyRequest({ "x-request-id": "phone-1.2:3" }).requestId).toBe("phone-1.2:3");
  });

  it.each(["", "a b", "x\u0000", "é", "x".repeat(129), "<script>"])("makes its own instead of %j", (given) => {
    const { requestId } = identifyRequest({ "x-request-id": given });
    expect(requestId).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("continues the caller's trace with a span of its own", () => {
    const { traceparent } = identifyRequest({ traceparent: `00-${trace}-00f067aa0ba902b7-00` });
    expect(traceparent).toMatch(new RegExp(`^00-${trace}-[0-9a-f]{16}-00$`));
    expect(traceparent).not.toContain("00f067aa0ba902b7");
  });

  it.each(["", `00-${"0".repeat(32)}-00f067aa0ba902b7-01`, `ff-${trace}-00f067aa0ba902b7-01`, "junk"])(
    "starts a trace where %j came",
    (traceparent) => {
      expect(identifyRequest({ traceparent }).traceparent).toMatch(/^00-(?!0{32})[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    },
  );
});

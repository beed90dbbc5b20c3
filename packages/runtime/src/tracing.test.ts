import { newTrace, startSpan, type TraceParent } from "@countersign/core";
import { afterEach, describe, expect, it } from "vitest";
import { createLogger } from "./log.ts";
import { startService } from "./process.ts";
import { startTracing } from "./tracing.ts";

let stop = async () => {};
afterEach(() => stop());

/** Returns the flags of a span within `parent`: 01 is exported. */
function flagsIn(parent: TraceParent, options: { ratio: number; decidesItself: boolean }): string {
  stop = startTracing({ name: "test", ...options });
  // It does not end, so that nothing is exported.
  return startSpan("work", { kind: "server", parent }).trace.flags;
}

describe("which traces are exported", () => {
  const sampled = { ...newTrace(), flags: "01" };
  const unsampled = { ...newTrace(), flags: "00" };

  it("is the caller's decision where only other services call", () => {
    expect(flagsIn(sampled, { ratio: 0, decidesItself: false })).toBe("01");
  });

  it("is not exported where the caller decided so", () => {
    expect(flagsIn(unsampled, { ratio: 1, decidesItself: false })).toBe("00");
  });

  it("is the process's own decision where anybody may call", () => {
    expect(flagsIn(sampled, { ratio: 0, decidesItself: true })).toBe("00");
  });
});

describe("the settings", () => {
  const collector = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" };
  const start = (env: Record<string, string>) =>
    startService({ name: "test", env, logger: createLogger({ name: "test", level: "silent" }), start: async () => {} });

  it.each([
    [{ OTEL_TRACES_SAMPLER_ARG: "1.5" }, "OTEL_TRACES_SAMPLER_ARG: must be a share of 0 to 1"],
    [{ OTEL_TRACES_SAMPLER_ARG: "half" }, "OTEL_TRACES_SAMPLER_ARG: must be a share of 0 to 1"],
    [{ OTEL_TRACES_SAMPLER: "always_on" }, "OTEL_TRACES_SAMPLER: must be parentbased_traceidratio"],
  ])("%j stop the start", async (env, problem) => {
    await expect(start({ ...collector, ...env })).rejects.toThrow(problem);
  });

  it("are absent where they are empty", async () => {
    const service = await start({ ...collector, OTEL_TRACES_SAMPLER: "", OTEL_TRACES_SAMPLER_ARG: "" });
    stop = async () => void (await service.stop());
  });

  it("export nothing without a collector", async () => {
    const service = await start({ OTEL_TRACES_SAMPLER_ARG: "0.5" });
    stop = async () => void (await service.stop());
    expect(startSpan("work").constructor.name).toBe("UnrecordedSpan");
  });
});

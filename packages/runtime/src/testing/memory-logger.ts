import { memoryLines } from "@countersign/core/testing/memory-lines.ts";
import { createLogger } from "../log.ts";

/** Creates a logger that keeps its lines. */
export function memoryLogger(level = "debug") {
  const { destination, ...kept } = memoryLines();
  return { logger: createLogger({ name: "test", level, destination }), ...kept };
}

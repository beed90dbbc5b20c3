import type { Logger } from "@countersign/core";
import { createLogger } from "../log.ts";

/** Creates a logger that keeps its lines. */
export function memoryLogger(level = "debug"): {
  logger: Logger;
  lines: () => Record<string, unknown>[];
  text: () => string;
} {
  let text = "";
  const destination = {
    write: (line: string) => {
      text += line;
    },
  };
  return {
    logger: createLogger({ name: "test", level, destination }),
    lines: () =>
      text
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    text: () => text,
  };
}

import { createLogger } from "@countersign/runtime";

/** Says nothing. */
export const silentLogger = createLogger({ name: "device", level: "silent" });

import { createLogger } from "@countersign/runtime";

/** Logs nothing. */
export const silentLogger = createLogger({ name: "device", level: "silent" });

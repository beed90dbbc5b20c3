import { createLogger } from "@countersign/service-kit";

/** Says nothing. */
export const silentLogger = createLogger({ name: "device", level: "silent" });

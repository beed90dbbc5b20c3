import { readFileSync } from "node:fs";

/**
 * Reads a JSON file of auth's settings as the chart needs it: it names the secret of the client `server-app`
 * where the chart mounts it, and not `secretFile`.
 */
export const readMounted = (file: string, secretFile: string) =>
  JSON.parse(readFileSync(file, "utf8").replaceAll(secretFile, "/etc/countersign/secret/server-app.secret"));

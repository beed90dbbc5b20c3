import { resolve } from "node:path";
import { root, services } from "@countersign/build/paths.ts";
import type { Stack } from "./stack-file.ts";

/** Returns the settings of the administrator's command for a stack; undefined without a certificate. */
export function adminEnvironment(stack: Stack, person: string): Record<string, string> | undefined {
  const files = stack.tls.clients[`admin-${person}`];
  if (!files) return undefined;
  const addresses = services.map((name) => [`CS_${name.toUpperCase()}_ADDRESS`, stack.processes[name]?.grpc ?? ""]);
  return {
    ...Object.fromEntries(addresses),
    CS_TLS_CA: resolve(root, stack.tls.ca),
    CS_TLS_CERT: resolve(root, files.cert),
    CS_TLS_KEY: resolve(root, files.key),
  };
}

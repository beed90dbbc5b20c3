import { INTERNAL_DOMAIN } from "@countersign/core";
import type { AuthContext } from "@grpc/grpc-js/build/src/auth-context.js";

const INTERNAL = new RegExp(`^([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)\\.${INTERNAL_DOMAIN.replaceAll(".", "\\.")}$`);

/**
 * Returns the name in the certificate of a connection; undefined without an accepted name, and from the
 * certificate's expiry on. TLS has verified the chain: grpc-js gives no certificate of a connection that is
 * not authorized. `names` maps DNS names of other domains.
 */
export function callerOf(auth: AuthContext, names: ReadonlyMap<string, string>): string | undefined {
  const { subjectaltname: alternatives, valid_to: validTo = "" } = auth.sslPeerCertificate ?? {};
  // TLS has checked it once, and a connection may be older.
  if (!(Date.parse(validTo) > Date.now())) return undefined;
  // A quote means a name with characters that make splitting ambiguous (CVE-2021-44532); none of our names
  // has one.
  if (auth.transportSecurityType !== "ssl" || alternatives === undefined || alternatives.includes('"'))
    return undefined;
  const callers = new Set<string>();
  for (const entry of alternatives.split(", ")) {
    if (!entry.startsWith("DNS:")) continue;
    const dns = entry.slice("DNS:".length);
    const caller = names.get(dns) ?? INTERNAL.exec(dns)?.[1];
    if (caller !== undefined) callers.add(caller);
  }
  // Two names would let one certificate act as two callers.
  return callers.size === 1 ? [...callers][0] : undefined;
}

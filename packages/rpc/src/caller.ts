import { INTERNAL_DOMAIN } from "@countersign/core";
import type { AuthContext } from "@grpc/grpc-js/build/src/auth-context.js";
import type { Peers } from "./peers.ts";

const INTERNAL = new RegExp(`^([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)\\.${INTERNAL_DOMAIN.replaceAll(".", "\\.")}$`);

/** The caller whose certificate also names a person. */
export const ADMIN = "admin";

const PERSON = /^URI:countersign:person:([a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?)$/;

/** Returns the names in a verified certificate; undefined once it has expired, or where they are unclear. */
function namesIn(auth: AuthContext): string[] | undefined {
  const { subjectaltname: alternatives, valid_to: validTo = "" } = auth.sslPeerCertificate ?? {};
  // TLS has checked it once, and a connection may be older.
  if (!(Date.parse(validTo) > Date.now())) return undefined;
  // A quote means a name with characters that make splitting ambiguous (CVE-2021-44532); none of our names
  // has one.
  if (auth.transportSecurityType !== "ssl" || alternatives === undefined || alternatives.includes('"'))
    return undefined;
  return alternatives.split(", ");
}

/** Returns the person in the certificate of an administrator; undefined without exactly one. */
export function personOf(auth: AuthContext): string | undefined {
  const persons = (namesIn(auth) ?? []).flatMap((name) => PERSON.exec(name)?.[1] ?? []);
  return persons.length === 1 ? persons[0] : undefined;
}

/**
 * Returns the name in the certificate of a connection; undefined without an accepted name, and from the
 * certificate's expiry on. TLS has verified the chain: grpc-js gives no certificate of a connection that is
 * not authorized. Nor has a revoked certificate a name.
 */
export function callerOf(auth: AuthContext, { names, revoked }: Pick<Peers, "names" | "revoked">): string | undefined {
  if (revoked.size > 0 && revoked.has(auth.sslPeerCertificate?.fingerprint256 ?? "")) return undefined;
  const callers = new Set<string>();
  for (const entry of namesIn(auth) ?? []) {
    if (!entry.startsWith("DNS:")) continue;
    const dns = entry.slice("DNS:".length);
    const caller = names.get(dns) ?? INTERNAL.exec(dns)?.[1];
    if (caller !== undefined) callers.add(caller);
  }
  // Two names would let one certificate act as two callers.
  return callers.size === 1 ? [...callers][0] : undefined;
}

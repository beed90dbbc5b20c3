import { INTERNAL_DOMAIN } from "@countersign/core";
import type { AuthContext } from "@grpc/grpc-js/build/src/auth-context.js";
import type { Peers } from "./peers.ts";

const INTERNAL = new RegExp(`^([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)\\.${INTERNAL_DOMAIN.replaceAll(".", "\\.")}$`);

/** The caller whose certificate also names a person. */
export const ADMIN = "admin";

const PERSON = /^URI:countersign:person:([a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?)$/;

interface Certificate {
  /** Milliseconds of the wall clock. */
  endsAt: number;
  names: readonly string[] | undefined;
}

/** By stream or call: parsing a certificate's texts costs more than all other checks of a call. */
const certificates = new WeakMap<AuthContext, Certificate>();

function certificateOf(auth: AuthContext): Certificate {
  const known = certificates.get(auth);
  if (known !== undefined) return known;
  const { subjectaltname: alternatives, valid_to: validTo = "" } = auth.sslPeerCertificate ?? {};
  // A quote means a name with characters that make splitting ambiguous (CVE-2021-44532); none of our names
  // has one.
  const isClear = auth.transportSecurityType === "ssl" && alternatives?.includes('"') === false;
  const certificate = { endsAt: Date.parse(validTo), names: isClear ? alternatives.split(", ") : undefined };
  certificates.set(auth, certificate);
  return certificate;
}

/** Returns the names in a verified certificate; undefined once it has expired, or where they are unclear. */
function namesIn(auth: AuthContext): readonly string[] | undefined {
  const { endsAt, names } = certificateOf(auth);
  // TLS has checked it once, and a connection may be older.
  return endsAt > Date.now() ? names : undefined;
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

/** Returns the names of a certificate that makes nobody a caller, for the log. */
export const namesForLog = ({ sslPeerCertificate }: AuthContext): string | undefined =>
  sslPeerCertificate?.subjectaltname?.slice(0, 200);

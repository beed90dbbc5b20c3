export const INTERNAL_DOMAIN = "countersign.internal";
/** Our own services that pass on messages that users of every app have signed. */
export const SIGNS_FOR_ALL: readonly string[] = ["gateway", "account"];

/** Returns the DNS name in the certificate of a service or of another backend. */
export function internalName(name: string): string {
  return `${name}.${INTERNAL_DOMAIN}`;
}

export const INTERNAL_DOMAIN = "countersign.internal";

/** Returns the DNS name in the certificate of a service or of another backend. */
export function internalName(name: string): string {
  return `${name}.${INTERNAL_DOMAIN}`;
}

import type { Clock } from "@countersign/core";
import { importPKCS8, SignJWT } from "jose";

interface ApnsKey {
  /** PKCS #8 PEM of a P-256 key. */
  privateKeyPem: string;
  keyId: string;
  teamId: string;
}

export interface ProviderToken {
  get(): Promise<string>;
  /** Discards the token, which the service reported as expired. */
  renew(): void;
}

// Apple refuses tokens older than an hour, and those that are renewed more often than every 20 minutes.
const LIFE_MS = 50 * 60_000;
const SHORTEST_MS = 20 * 60_000;

/** Makes APNs' provider token (ES256), a new one after 50 minutes. */
export function providerToken(key: ApnsKey, clock: Clock): ProviderToken {
  const privateKey = importPKCS8(key.privateKeyPem, "ES256");
  // Reported where the token is used.
  privateKey.catch(() => undefined);
  let made: { token: Promise<string>; at: number } | undefined;
  const make = async (at: number) =>
    new SignJWT({})
      .setProtectedHeader({ alg: "ES256", kid: key.keyId })
      .setIssuer(key.teamId)
      .setIssuedAt(Math.floor(at / 1_000))
      .sign(await privateKey);
  return {
    get() {
      const now = clock.now().getTime();
      if (made === undefined || now - made.at >= LIFE_MS) made = { token: make(now), at: now };
      return made.token;
    },
    renew() {
      if (made !== undefined && clock.now().getTime() - made.at >= SHORTEST_MS) made = undefined;
    },
  };
}

import {
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
} from "node:crypto";
import { type Clock, uuidv4 } from "@countersign/core";
import { ACCESS_TOKEN_MS, DAY_MS } from "../domain/sessions/session.ts";

/** A token key as the database has it. */
export interface StoredTokenKey {
  readonly kid: string;
  readonly publicJwk: Record<string, string>;
  readonly encryptedPrivate: Uint8Array;
  readonly signsFrom: Date;
  readonly signsUntil: Date;
}

export interface TokenKeyStore {
  /** Keys that signed or will sign after `since`, oldest first. */
  list(since: Date): Promise<StoredTokenKey[]>;
  /** Runs `work` alone among all replicas. */
  exclusively<T>(
    work: (keys: {
      list(since: Date): Promise<StoredTokenKey[]>;
      insert(key: StoredTokenKey): Promise<void>;
    }) => Promise<T>,
  ): Promise<T>;
}

/** The next key is published this long before it signs, so that every cache has it by then. */
const LEAD_MS = DAY_MS;
/** Refresh tokens of a retired key are accepted until they expire. */
const KEEP_MS = 31 * DAY_MS;
const RELOAD_MS = 30_000;

const encrypt = (key: Buffer, kid: string, plain: Buffer): Buffer => {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, nonce, { authTagLength: 16 }).setAAD(Buffer.from(kid));
  const text = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), text]);
};

const decrypt = (key: Buffer, kid: string, sealed: Uint8Array): Buffer => {
  const bytes = Buffer.from(sealed);
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, 12), { authTagLength: 16 });
  decipher.setAAD(Buffer.from(kid)).setAuthTag(bytes.subarray(12, 28));
  return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]);
};

function newKey(encryptionKey: Buffer, signsFrom: Date, periodMs: number): StoredTokenKey {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const kid = uuidv4();
  const { kty, crv, x, y } = publicKey.export({ format: "jwk" });
  return {
    kid,
    publicJwk: { kty: kty!, crv: crv!, x: x!, y: y!, kid, alg: "ES256", use: "sig" },
    encryptedPrivate: encrypt(encryptionKey, kid, privateKey.export({ format: "der", type: "pkcs8" })),
    signsFrom,
    signsUntil: new Date(signsFrom.getTime() + periodMs),
  };
}

export interface TokenKeysOptions {
  readonly store: TokenKeyStore;
  readonly encryptionKey: Buffer;
  readonly clock: Clock;
  /** How long one key signs. */
  readonly periodMs: number;
}

/** Provides the keys that sign and verify tokens, the same in all replicas. */
export function createTokenKeys({ store, encryptionKey, clock, periodMs }: TokenKeysOptions) {
  let known: StoredTokenKey[] = [];
  let loadedAt = Number.NEGATIVE_INFINITY;
  let signing: { kid: string; key: KeyObject } | undefined;
  /** Public keys by kid: a few, since a key signs for days. */
  const verifying = new Map<string, KeyObject>();

  const keptSince = () => new Date(clock.now().getTime() - KEEP_MS);

  async function load(): Promise<StoredTokenKey[]> {
    const now = clock.now().getTime();
    if (now - loadedAt > RELOAD_MS || known.length === 0) {
      known = await store.list(keptSince());
      loadedAt = now;
    }
    return known;
  }

  return {
    /** Makes the first key, and the next one in time; safe to call often and from every replica. */
    async rotate(): Promise<void> {
      await store.exclusively(async (keys) => {
        const now = clock.now();
        const newest = (await keys.list(keptSince())).at(-1);
        if (!newest || newest.signsUntil <= now) await keys.insert(newKey(encryptionKey, now, periodMs));
        else if (newest.signsUntil.getTime() - now.getTime() <= LEAD_MS) {
          await keys.insert(newKey(encryptionKey, newest.signsUntil, periodMs));
        }
      });
      loadedAt = Number.NEGATIVE_INFINITY;
    },

    /** The key that signs now. */
    async signingKey(): Promise<{ kid: string; key: KeyObject }> {
      const now = clock.now();
      const current = (await load()).findLast((key) => key.signsFrom <= now);
      if (!current) throw new Error("there is no token key yet");
      if (signing?.kid !== current.kid) {
        const der = decrypt(encryptionKey, current.kid, current.encryptedPrivate);
        signing = { kid: current.kid, key: createPrivateKey({ key: der, format: "der", type: "pkcs8" }) };
      }
      return signing;
    },

    /**
     * Public keys of access tokens that may be alive: the next, the current, and the previous while its
     * tokens live.
     */
    async published(): Promise<Record<string, string>[]> {
      const alive = new Date(clock.now().getTime() - 2 * ACCESS_TOKEN_MS);
      return (await load()).filter((key) => key.signsUntil > alive).map((key) => key.publicJwk);
    },

    /** The public key of a refresh token that may be alive. */
    async verificationKey(kid: string): Promise<KeyObject | undefined> {
      const { publicJwk } = (await load()).find((key) => key.kid === kid) ?? {};
      if (!publicJwk) return undefined;
      const known = verifying.get(kid) ?? createPublicKey({ key: publicJwk, format: "jwk" });
      verifying.set(kid, known);
      return known;
    },
  };
}
export type TokenKeys = ReturnType<typeof createTokenKeys>;

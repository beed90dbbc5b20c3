import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { type Clock, DAY_MS, uuidv4, type Watched } from "@countersign/core";
import type { Keyring } from "../config.ts";
import { ACCESS_TOKEN_MS } from "../domain/sessions/session.ts";
import { seal, unseal } from "./keyring.ts";

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
      update(kid: string, encryptedPrivate: Uint8Array): Promise<void>;
    }) => Promise<T>,
  ): Promise<T>;
}

/** The next key is published this long before it signs, so that every cache has it by then. */
const LEAD_MS = DAY_MS;
/** Refresh tokens of a retired key are accepted until they expire. */
export const KEPT_TOKEN_KEY_MS = 31 * DAY_MS;
const RELOAD_MS = 30_000;
/** Keys are encrypted again once the keyring has been in use for so long: by then all replicas have it. */
const RE_ENCRYPT_AFTER_MS = 120_000;

function newKey(keyring: Keyring, signsFrom: Date, periodMs: number): StoredTokenKey {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const kid = uuidv4();
  const { kty, crv, x, y } = publicKey.export({ format: "jwk" });
  return {
    kid,
    publicJwk: { kty: kty!, crv: crv!, x: x!, y: y!, kid, alg: "ES256", use: "sig" },
    encryptedPrivate: seal(keyring, kid, privateKey.export({ format: "der", type: "pkcs8" })),
    signsFrom,
    signsUntil: new Date(signsFrom.getTime() + periodMs),
  };
}

export interface TokenKeysOptions {
  readonly store: TokenKeyStore;
  readonly keyring: Watched<Keyring>;
  readonly clock: Clock;
  /** How long one key signs. */
  readonly periodMs: number;
}

/** Numbers of stored token keys. */
export interface EncryptedKeys {
  /** Under the first key of the keyring. */
  readonly first: number;
  /** Under another one, which must stay in the keyring until there are none. */
  readonly other: number;
  /** Under none of the keyring: its keys cannot sign. */
  readonly unknown: number;
}

/** Provides the keys that sign and verify tokens, the same in all replicas. */
export function createTokenKeys(options: TokenKeysOptions) {
  const { store, keyring, clock, periodMs } = options;
  let keyringSince = clock.now().getTime();
  keyring.onChange(() => {
    keyringSince = clock.now().getTime();
  });
  let known: StoredTokenKey[] = [];
  let loadedAt = Number.NEGATIVE_INFINITY;
  let signing: { kid: string; key: KeyObject } | undefined;
  /** Public keys by kid: a few, since a key signs for days. */
  const verifying = new Map<string, KeyObject>();

  const keptSince = () => new Date(clock.now().getTime() - KEPT_TOKEN_KEY_MS);

  async function load(): Promise<StoredTokenKey[]> {
    const now = clock.now().getTime();
    if (now - loadedAt > RELOAD_MS || known.length === 0) {
      known = await store.list(keptSince());
      loadedAt = now;
    }
    return known;
  }

  function privateKeyOf({ kid, encryptedPrivate }: StoredTokenKey): Buffer {
    const opened = unseal(keyring.current(), kid, encryptedPrivate);
    if (opened) return opened.plain;
    // Another replica may have the new keyring already.
    keyring.refresh();
    const again = unseal(keyring.current(), kid, encryptedPrivate);
    if (again) return again.plain;
    throw new Error("no key of AUTH_TOKEN_KEY_ENCRYPTION_KEY_FILE decrypts the token key: add the one it had before");
  }

  return {
    /**
     * Encrypts stored keys under the first key of the keyring, once all replicas have it, so that the others
     * can be removed. Safe to call often and from every replica.
     */
    reEncrypt(): Promise<EncryptedKeys> {
      const mayWrite = clock.now().getTime() - keyringSince >= RE_ENCRYPT_AFTER_MS;
      return store.exclusively(async (keys) => {
        const found = { first: 0, other: 0, unknown: 0 };
        for (const { kid, encryptedPrivate } of await keys.list(new Date(0))) {
          const opened = unseal(keyring.current(), kid, encryptedPrivate);
          if (opened && !opened.isFirst && mayWrite) {
            await keys.update(kid, seal(keyring.current(), kid, opened.plain));
            found.first += 1;
          } else found[opened === undefined ? "unknown" : opened.isFirst ? "first" : "other"] += 1;
        }
        return found;
      });
    },

    /** Makes the first key, and the next one in time; safe to call often and from every replica. */
    async rotate(): Promise<void> {
      await store.exclusively(async (keys) => {
        const now = clock.now();
        const newest = (await keys.list(keptSince())).at(-1);
        if (!newest || newest.signsUntil <= now) await keys.insert(newKey(keyring.current(), now, periodMs));
        else if (newest.signsUntil.getTime() - now.getTime() <= LEAD_MS) {
          await keys.insert(newKey(keyring.current(), newest.signsUntil, periodMs));
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
        const der = privateKeyOf(current);
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

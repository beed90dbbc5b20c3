import type * as crypto from "node:crypto";

type Done = (error: Error | null, key: Buffer) => void;

/**
 * Returns `node:crypto` with a scrypt that derives each key once: it is slow on purpose, and tests open the
 * same keystore many times.
 */
export function rememberedScrypt(original: typeof crypto) {
  const keys = new Map<string, Buffer>();
  const scryptSync = (...args: [string, Buffer, number, crypto.ScryptOptions]): Buffer => {
    const id = JSON.stringify(args);
    const key = keys.get(id) ?? original.scryptSync(...args);
    keys.set(id, key);
    return key;
  };
  const scrypt = (password: string, salt: Buffer, length: number, options: crypto.ScryptOptions, done: Done) =>
    setImmediate(() => done(null, scryptSync(password, salt, length, options)));
  return { ...original, scryptSync, scrypt };
}

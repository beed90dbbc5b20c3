import { ConfigError, type Files, type ReadFile, readSecretFile, type WatchedFile } from "@countersign/runtime";

/** Keys of AES-256-GCM: the first one encrypts, all decrypt. */
export type Keyring = readonly [Buffer, ...Buffer[]];

/** Loads a keyring: a line of 32 bytes in hex for each key. Errors: ConfigError. */
export function loadKeyring(path: string, read?: ReadFile): Keyring {
  const lines = readSecretFile(path, read).split(/\r?\n/);
  const keys = lines.map((line, at) => {
    if (!/^[0-9a-f]{64}$/i.test(line))
      throw new ConfigError([`secret file ${path}: line ${at + 1} must be 32 bytes in hex`]);
    return Buffer.from(line, "hex");
  });
  if (new Set(keys.map((key) => key.toString("hex"))).size < keys.length)
    throw new ConfigError([`secret file ${path}: has a key twice`]);
  return keys as [Buffer, ...Buffer[]];
}

/** Loads it, and again when it changes; a keyring without any key of the one in use is refused. */
export function watchKeyring(files: Pick<Files, "watch">, path: string): WatchedFile<Keyring> {
  const keyring = files.watch("token-key-encryption-keys", (read) => loadKeyring(path, read));
  keyring.require((changed) => {
    if (!changed.some((key) => keyring.current().some((used) => used.equals(key))))
      throw new ConfigError([`secret file ${path}: has none of the keys that are in use`]);
  });
  return keyring;
}

import { createCipheriv, createDecipheriv, randomBytes, scrypt, scryptSync } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { newScalar } from "./private-keys.ts";

const hex32 = z.string().regex(/^[0-9a-f]{64}$/);
const versions = z.array(z.object({ version: z.int().positive(), scalar: hex32 })).min(1);

/** The content of the opened keystore file. The newest version of a key comes last. */
const keystoreContent = z.object({
  /** Of server keys of version 1. */
  rootSecret: hex32,
  /**
   * Later versions of server keys, each with its own secret, so that a leaked one does not reveal the next.
   */
  laterRoots: z.array(z.object({ version: z.int().min(2), secret: hex32 })).optional(),
  /** Absent in a keystore that was made before there were checkpoints; `keys create` adds it. */
  audit: versions.optional(),
  chains: z.record(z.string(), z.object({ creator: versions, paymaster: versions })),
});
export type KeystoreContent = z.output<typeof keystoreContent>;

const FORMAT = "countersign-keystore-1";
const SCRYPT = { N: 131_072, r: 8, p: 1 } as const;

const envelope = z.object({
  format: z.literal(FORMAT),
  scrypt: z.object({ N: z.literal(SCRYPT.N), r: z.literal(SCRYPT.r), p: z.literal(SCRYPT.p), salt: z.string() }),
  iv: z.string(),
  tag: z.string(),
  ciphertext: z.string(),
});

/**
 * Thrown when the file is damaged, of another format, or the passphrase is wrong; the message does not say
 * which.
 */
export class KeystoreError extends Error {
  override readonly name = "KeystoreError";
}

const SCRYPT_OPTIONS = { ...SCRYPT, maxmem: 256 * 1024 * 1024 };
const deriveKey = (passphrase: string, salt: Buffer) => scryptSync(passphrase, salt, 32, SCRYPT_OPTIONS);
const deriveKeyAside = promisify<string, Buffer, number, typeof SCRYPT_OPTIONS, Buffer>(scrypt);

type Envelope = z.output<typeof envelope>;

const saltOf = (sealed: Envelope): Buffer => Buffer.from(sealed.scrypt.salt, "base64");

function decrypt({ iv, tag, ciphertext }: Envelope, key: Buffer): KeystoreContent {
  const decipher = createDecipheriv("aes-256-gcm", key, Buffer.from(iv, "base64"), { authTagLength: 16 });
  decipher.setAAD(Buffer.from(FORMAT)).setAuthTag(Buffer.from(tag, "base64"));
  const plain = Buffer.concat([decipher.update(Buffer.from(ciphertext, "base64")), decipher.final()]);
  return keystoreContent.parse(JSON.parse(plain.toString("utf8")));
}

/** The cause may quote what was decrypted: it is left out, unless the file could not be read. */
function cannotOpen(file: string, error: unknown): KeystoreError {
  const { code, syscall } = error as NodeJS.ErrnoException;
  const why = syscall === undefined ? "it is damaged, or the passphrase is wrong" : code;
  return new KeystoreError(`the keystore ${file} cannot be opened: ${why}`);
}

/** Opens the file. Errors: KeystoreError. */
export function readKeystore(file: string, passphrase: string): KeystoreContent {
  try {
    const sealed = envelope.parse(JSON.parse(readFileSync(file, "utf8")));
    return decrypt(sealed, deriveKey(passphrase, saltOf(sealed)));
  } catch (error) {
    throw cannotOpen(file, error);
  }
}

/** Opens the file without holding up the process, which signs meanwhile. Errors: KeystoreError. */
export async function openKeystore(
  file: string,
  passphrase: string,
  read: (path: string) => Buffer,
): Promise<KeystoreContent> {
  try {
    const sealed = envelope.parse(JSON.parse(read(file).toString("utf8")));
    return decrypt(sealed, await deriveKeyAside(passphrase, saltOf(sealed), 32, SCRYPT_OPTIONS));
  } catch (error) {
    throw cannotOpen(file, error);
  }
}

/**
 * Replaces the file in one step: a crash leaves the old one or the new one. With `isNew` an existing file is
 * kept: of two processes that create a keystore at once, the first one's keys must stay, since they may be on
 * chain already.
 */
function writeKeystore(file: string, passphrase: string, content: KeystoreContent, isNew: boolean): void {
  const salt = randomBytes(16);
  const iv = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", deriveKey(passphrase, salt), iv, { authTagLength: 16 });
  cipher.setAAD(Buffer.from(FORMAT));
  const ciphertext = Buffer.concat([cipher.update(JSON.stringify(content), "utf8"), cipher.final()]);
  const text = JSON.stringify({
    format: FORMAT,
    scrypt: { ...SCRYPT, salt: salt.toString("base64") },
    iv: iv.toString("base64"),
    tag: cipher.getAuthTag().toString("base64"),
    ciphertext: ciphertext.toString("base64"),
  });
  const temporary = `${file}.${randomBytes(6).toString("hex")}`;
  const descriptor = openSync(temporary, "wx", 0o600);
  try {
    writeFileSync(descriptor, `${text}\n`);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  if (isNew) {
    try {
      linkSync(temporary, file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    } finally {
      unlinkSync(temporary);
    }
  } else renameSync(temporary, file);
  const directory = openSync(dirname(file), "r");
  fsyncSync(directory);
  closeSync(directory);
}

/**
 * Writes what `change` makes of the content, while no other command changes the file, and returns the
 * content of the file, not the intended one. The lock of a killed command must be removed by hand. Errors:
 * KeystoreError.
 */
function changeKeystore(
  file: string,
  passphrase: string,
  change: (content: KeystoreContent) => KeystoreContent,
  newPassphrase = passphrase,
): KeystoreContent {
  const lock = `${file}.lock`;
  try {
    closeSync(openSync(lock, "wx", 0o600));
  } catch {
    throw new KeystoreError(`${lock} exists: another command is running, or was killed (then remove the file)`);
  }
  try {
    writeKeystore(file, newPassphrase, change(readKeystore(file, passphrase)), false);
    return readKeystore(file, newPassphrase);
  } finally {
    unlinkSync(lock);
  }
}

/** Of a new passphrase; keystores with a shorter one open as before. */
const MIN_PASSPHRASE_CHARACTERS = 20;

/** A thief of the file tries passphrases on machines of his own. Errors: KeystoreError. */
function requireLongPassphrase(passphrase: string): void {
  if (passphrase.length < MIN_PASSPHRASE_CHARACTERS)
    throw new KeystoreError(
      `a new passphrase has at least ${MIN_PASSPHRASE_CHARACTERS} characters, such as those of: openssl rand -hex 32`,
    );
}

const firstVersion = () => [{ version: 1, scalar: newScalar() }];

/**
 * Opens the keystore, or makes one; adds keys for `chainName` and the audit key where it has none. Errors:
 * KeystoreError.
 */
export function ensureKeystore(file: string, passphrase: string, chainName: string): KeystoreContent {
  const keys = () => ({ creator: firstVersion(), paymaster: firstVersion() });
  if (!existsSync(file)) {
    requireLongPassphrase(passphrase);
    const rootSecret = randomBytes(32).toString("hex");
    writeKeystore(file, passphrase, { rootSecret, audit: firstVersion(), chains: { [chainName]: keys() } }, true);
  }
  const content = readKeystore(file, passphrase);
  if (Object.hasOwn(content.chains, chainName) && content.audit !== undefined) return content;
  return changeKeystore(file, passphrase, ({ chains, audit = firstVersion(), ...now }) => {
    const added = Object.hasOwn(chains, chainName) ? chains : { ...chains, [chainName]: keys() };
    return { ...now, audit, chains: added };
  });
}

/** Adds the next version of a key; those before stay. Errors: KeystoreError. */
export function addKeyVersion(
  file: string,
  passphrase: string,
  key: { role: "audit" } | { role: "creator" | "paymaster"; chainName: string },
): KeystoreContent {
  return changeKeystore(file, passphrase, (content) => {
    const next = (keys: readonly { version: number; scalar: string }[]) => [
      ...keys,
      { version: Math.max(0, ...keys.map(({ version }) => version)) + 1, scalar: newScalar() },
    ];
    if (key.role === "audit") return { ...content, audit: next(content.audit ?? []) };
    const { chainName, role } = key;
    const chain = Object.hasOwn(content.chains, chainName) ? content.chains[chainName] : undefined;
    if (!chain) throw new KeystoreError(`the keystore has no keys of ${chainName}`);
    return { ...content, chains: { ...content.chains, [chainName]: { ...chain, [role]: next(chain[role]) } } };
  });
}

/** Adds the root secret of the next version of server keys; those before stay. Errors: KeystoreError. */
export function addServerRoot(file: string, passphrase: string): KeystoreContent {
  return changeKeystore(file, passphrase, ({ laterRoots = [], ...content }) => {
    const version = Math.max(1, ...laterRoots.map((root) => root.version)) + 1;
    const added = [...laterRoots, { version, secret: randomBytes(32).toString("hex") }];
    return { ...content, laterRoots: added };
  });
}

/** Returns the root secrets of server keys by version, the oldest first. */
export const serverRoots = ({ rootSecret, laterRoots = [] }: KeystoreContent) => [
  { version: 1, secret: rootSecret },
  ...laterRoots,
];

/** Writes the same content under another passphrase. Errors: KeystoreError. */
export function reEncryptKeystore(file: string, passphrase: string, newPassphrase: string): void {
  requireLongPassphrase(newPassphrase);
  changeKeystore(file, passphrase, (content) => content, newPassphrase);
}

/** Returns the versions of each key; no key material. */
export function keyVersions(content: KeystoreContent) {
  const { audit = [], chains } = content;
  const numbers = (keys: readonly { version: number }[]) => keys.map(({ version }) => version);
  return {
    audit: numbers(audit),
    server: serverRoots(content).map(({ version }) => version),
    chains: Object.entries(chains).map(([chainName, { creator, paymaster }]) => ({
      chainName,
      creator: numbers(creator),
      paymaster: numbers(paymaster),
    })),
  };
}

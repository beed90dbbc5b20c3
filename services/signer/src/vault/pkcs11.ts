import { type PublicKey, parsePublicKey } from "@countersign/keys";
import koffi from "koffi";
import { holderUnavailable, type KeyHolder, KeyHolderError } from "./key-holder.ts";

// The part of PKCS #11 v2.40 that signing needs. CK_ULONG is C's long; structures are packed as in C, except
// on Windows.
const CKR_OK = 0n;
const CKR_ALREADY_INITIALIZED = 0x191n;
const CKR_USER_ALREADY_LOGGED_IN = 0x100n;
/** CKR_PIN_INCORRECT, _INVALID, _LEN_RANGE, _EXPIRED, _LOCKED. */
const CKR_PIN = [0xa0n, 0xa1n, 0xa2n, 0xa3n, 0xa4n];
const CKF_SERIAL_SESSION = 4n;
const CKU_USER = 1n;
const CKO_PUBLIC_KEY = 2n;
const CKO_PRIVATE_KEY = 3n;
const CKA_CLASS = 0n;
const CKA_LABEL = 3n;
const CKA_EC_PARAMS = 0x180n;
const CKA_EC_POINT = 0x181n;
const CKM_ECDSA = 0x1041n;
const P256_OID = "06082a8648ce3d030107";
const TOKEN_LABEL_BYTES = 32;

export interface Pkcs11Options {
  /** The library of the device's maker, for example /usr/lib/softhsm/libsofthsm2.so. */
  readonly module: string;
  readonly tokenLabel: string;
  readonly pin: string;
}

/**
 * An attribute of a template. It holds the address of its value, so the buffer must live as long as the call.
 */
interface Attribute {
  readonly type: bigint;
  readonly value: Buffer;
}

const ulong = (value: bigint): Buffer => {
  const buffer = Buffer.alloc(8);
  buffer.writeBigUInt64LE(value);
  return buffer;
};

function template(attributes: readonly Attribute[]): Buffer {
  return Buffer.concat(
    attributes.flatMap(({ type, value }) => [ulong(type), ulong(koffi.address(value)), ulong(BigInt(value.length))]),
  );
}

function load(module: string) {
  const library = koffi.load(module);
  const declare = (name: string, types: string) => library.func(`ulong ${name}(${types})`);
  return {
    initialize: declare("C_Initialize", "void *args"),
    getSlotList: declare("C_GetSlotList", "uchar present, void *slots, void *count"),
    getTokenInfo: declare("C_GetTokenInfo", "ulong slot, void *info"),
    openSession: declare("C_OpenSession", "ulong slot, ulong flags, void *application, void *notify, void *session"),
    login: declare("C_Login", "ulong session, ulong user, void *pin, ulong length"),
    findInit: declare("C_FindObjectsInit", "ulong session, void *template, ulong count"),
    find: declare("C_FindObjects", "ulong session, void *objects, ulong most, void *count"),
    findFinal: declare("C_FindObjectsFinal", "ulong session"),
    getAttribute: declare("C_GetAttributeValue", "ulong session, ulong object, void *template, ulong count"),
    signInit: declare("C_SignInit", "ulong session, void *mechanism, ulong key"),
    sign: declare("C_Sign", "ulong session, void *data, ulong length, void *signature, void *signatureLength"),
    closeSession: declare("C_CloseSession", "ulong session"),
  };
}

/** Throws an error with the failed call's name and its CKR code, and nothing of its arguments. */
function check(name: string, code: number | bigint, ...accepted: readonly bigint[]): void {
  if (![CKR_OK, ...accepted].includes(BigInt(code))) throw new Error(`${name}: CKR 0x${BigInt(code).toString(16)}`);
}

/**
 * Opens an HSM or similar device behind PKCS #11: EC keys on P-256 named by their label, private and public
 * part alike. CKM_ECDSA signs a digest of any hash, so that the device need not support SHA3-256. One
 * session, opened again after a failure; signatures are made one after another on a thread of their own.
 * Errors: KeyHolderError.
 */
export async function openPkcs11({ module, tokenLabel, pin }: Pkcs11Options): Promise<KeyHolder> {
  const api = load(module);
  check("C_Initialize", api.initialize(null), CKR_ALREADY_INITIALIZED);
  let session = logIn(api, tokenLabel, pin);
  const objects = new Map<string, bigint>();
  const findOne = (objectClass: bigint, label: string): bigint => {
    const cached = objects.get(`${objectClass} ${label}`);
    if (cached !== undefined) return cached;
    const attributes = [
      { type: CKA_CLASS, value: ulong(objectClass) },
      { type: CKA_LABEL, value: Buffer.from(label) },
    ];
    check("C_FindObjectsInit", api.findInit(session, template(attributes), attributes.length));
    const [found, count] = [Buffer.alloc(16), ulong(0n)];
    check("C_FindObjects", api.find(session, found, 2, count));
    check("C_FindObjectsFinal", api.findFinal(session));
    if (count.readBigUInt64LE() !== 1n)
      throw new KeyHolderError(`the token has ${count.readBigUInt64LE()} such keys, not one`);
    objects.set(`${objectClass} ${label}`, found.readBigUInt64LE());
    return found.readBigUInt64LE();
  };
  const attribute = (object: bigint, type: bigint): Buffer => {
    const value = Buffer.alloc(256);
    const asked = template([{ type, value }]);
    check("C_GetAttributeValue", api.getAttribute(session, object, asked, 1));
    return value.subarray(0, Number(asked.readBigUInt64LE(16)));
  };

  /** The device was away, or has failed: after a restart it knows neither sessions nor handles of before. */
  let isLost = false;
  let refusedPin: PinRefusedError | undefined;
  function reopenLost(): void {
    if (refusedPin) throw refusedPin;
    if (!isLost) return;
    api.closeSession(session);
    objects.clear();
    try {
      session = logIn(api, tokenLabel, pin);
    } catch (error) {
      // Tried again and again, a PIN that was changed locks the token.
      if (error instanceof PinRefusedError) refusedPin = error;
      throw error;
    }
    isLost = false;
  }

  // C_SignInit and C_Sign belong together: one session does one at a time.
  let last: Promise<unknown> = Promise.resolve();
  async function signNow(label: string, digest: Uint8Array): Promise<Uint8Array> {
    reopenLost();
    const key = findOne(CKO_PRIVATE_KEY, label);
    const mechanism = Buffer.concat([ulong(CKM_ECDSA), ulong(0n), ulong(0n)]);
    check("C_SignInit", api.signInit(session, mechanism, key));
    // All three must outlive the call on the other thread.
    const [data, signature, length] = [Buffer.from(digest), Buffer.alloc(64), ulong(64n)];
    const code = await new Promise<number>((resolve, reject) =>
      api.sign.async(session, data, data.length, signature, length, (error: Error, answer: number) =>
        error ? reject(error) : resolve(answer),
      ),
    );
    data.fill(0);
    check("C_Sign", code);
    if (length.readBigUInt64LE() !== 64n) throw new Error("the token returned a signature that has not 64 bytes");
    return signature;
  }

  return {
    async publicKey(label) {
      const object = findOne(CKO_PUBLIC_KEY, label);
      if (attribute(object, CKA_EC_PARAMS).toString("hex") !== P256_OID)
        throw new KeyHolderError("the token's key is not on P-256");
      return pointOf(attribute(object, CKA_EC_POINT));
    },
    signDigest(label, digest) {
      const mine = last.then(() => signNow(label, digest));
      last = mine.catch(() => undefined);
      return mine.catch((error: unknown) => {
        if (error instanceof KeyHolderError && !isLost) throw error;
        isLost = true;
        throw holderUnavailable(error);
      });
    },
    close: () => void api.closeSession(session),
  };
}

/** The token does not take the PIN, or is locked. */
class PinRefusedError extends Error {}

/** Opens a session in which the token's keys sign. Errors: KeyHolderError, PinRefusedError. */
function logIn(api: ReturnType<typeof load>, tokenLabel: string, pin: string): bigint {
  const session = openSession(api, tokenLabel);
  const secret = Buffer.from(pin);
  const code = api.login(session, CKU_USER, secret, secret.length);
  secret.fill(0);
  try {
    if (CKR_PIN.includes(BigInt(code))) throw new PinRefusedError(`C_Login: CKR 0x${BigInt(code).toString(16)}`);
    check("C_Login", code, CKR_USER_ALREADY_LOGGED_IN);
  } catch (error) {
    api.closeSession(session);
    throw error;
  }
  return session;
}

function openSession(api: ReturnType<typeof load>, tokenLabel: string): bigint {
  const count = ulong(0n);
  check("C_GetSlotList", api.getSlotList(1, null, count));
  const slots = Buffer.alloc(Number(count.readBigUInt64LE()) * 8);
  check("C_GetSlotList", api.getSlotList(1, slots, count));
  for (let at = 0; at < slots.length; at += 8) {
    const slot = slots.readBigUInt64LE(at);
    const info = Buffer.alloc(512);
    check("C_GetTokenInfo", api.getTokenInfo(slot, info));
    if (info.toString("utf8", 0, TOKEN_LABEL_BYTES).trimEnd() !== tokenLabel) continue;
    const session = ulong(0n);
    check("C_OpenSession", api.openSession(slot, CKF_SERIAL_SESSION, null, null, session));
    return session.readBigUInt64LE();
  }
  throw new KeyHolderError(`no token with the label ${tokenLabel}`);
}

/** Returns the key of an OCTET STRING around the uncompressed point. */
function pointOf(value: Buffer): PublicKey {
  if (value.length !== 67 || value[0] !== 4 || value[1] !== 65 || value[2] !== 4)
    throw new KeyHolderError("the token's public key is not an uncompressed point");
  return parsePublicKey(value.subarray(3).toString("hex"), "ES256");
}

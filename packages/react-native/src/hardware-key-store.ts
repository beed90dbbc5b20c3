import { createOnce, type DeviceKey, type KeyStore } from "@countersign/client";
import { base64urlToBytes, bytesToBase64url, bytesToHex, canonicalPublicKey, parseSignature } from "@countersign/keys";

/**
 * The functions of `@sbaiahmed1/react-native-biometrics` that are used; another module can be given in their
 * form. EC256 keys are in the Secure Enclave, or in StrongBox where the phone has it, else in the TEE.
 * @example
 * import type { HardwareKeyStoreOptions } from "@countersign/react-native";
 * const options: HardwareKeyStoreOptions = { module: biometrics, promptTitle: "Sign" };
 */
export interface HardwareKeyModule {
  /** Creates a key; `publicKey` is the base64 of its SubjectPublicKeyInfo. */
  createKeys(
    keyAlias: string,
    keyType: "ec256",
    biometricStrength: undefined,
    allowDeviceCredentials: boolean,
    failIfExists: boolean,
  ): Promise<{ publicKey: string }>;
  /** Signs ECDSA over SHA-256; the signature is the base64 of its DER. */
  signWithOptions(options: {
    keyAlias: string;
    data: string;
    // biome-ignore lint/suspicious/noExplicitAny: the module has an enumeration here, whose value is "base64"
    inputEncoding?: any;
    promptTitle?: string;
  }): Promise<{ success: boolean; signature?: string; error?: string; errorCode?: string }>;
  /** Lists the keys of this app. */
  getAllKeys(customAlias?: string): Promise<{ keys: { alias: string; publicKey: string }[] }>;
  /** Deletes a key. */
  deleteKeys(keyAlias: string): Promise<unknown>;
  /** Says where a key is. */
  getKeyAttributes?(
    keyAlias: string,
  ): Promise<{ exists: boolean; attributes?: { securityLevel: string; hardwareBacked: boolean } }>;
}

/** Options of `hardwareKeyStore`. */
export interface HardwareKeyStoreOptions {
  /** The module: `import * as biometrics from "@sbaiahmed1/react-native-biometrics"`. */
  module: HardwareKeyModule;
  /** The key's name on this phone; default `countersign.device`. */
  keyAlias?: string;
  /** The title of the phone's dialog, in the person's language. */
  promptTitle?: string;
  /** Whether the phone's code may take the place of a fingerprint or face; default true. */
  allowDeviceCredentials?: boolean;
  /**
   * Returns the platform's attestation of a key, where the app has a module for it (App Attest, Android key
   * attestation); `HardwareKey.attestation` passes it on.
   */
  attest?: (keyAlias: string, challenge: Uint8Array) => Promise<unknown>;
}

/** A key in the phone's secure hardware. */
export interface HardwareKey extends DeviceKey {
  /**
   * Says where the key is; `unknown` where the module cannot say.
   * @example
   * const key = await hardwareKeyStore({ module: biometrics }).create();
   * if ((await key.security()) === "software") show("This phone keeps keys in software");
   */
  security(): Promise<"hardware" | "software" | "unknown">;
  /**
   * Returns the platform's attestation for the app's own backend; undefined where there is none. The API of
   * the service has no field for it.
   * @example
   * const key = await hardwareKeyStore({ module: biometrics }).create();
   * const statement = await key.attestation(challenge);
   */
  attestation(challenge: Uint8Array): Promise<unknown>;
}

/**
 * Thrown where the phone did not create a key or did not sign; the message is the module's.
 * @example
 * const key = await hardwareKeyStore({ module: biometrics })
 *   .create()
 *   .catch((error) => {
 *     if (error instanceof HardwareKeyError) return undefined;
 *     throw error;
 *   });
 */
export class HardwareKeyError extends Error {
  override readonly name = "HardwareKeyError";
  /** The module's code, such as `BIOMETRIC_LOCKOUT`; "" where it has none. */
  readonly code: string;
  /** Whether the person closed the dialog: nothing to report, and the call can be made again. */
  readonly isCancelled: boolean;

  constructor(message: string, code = "") {
    super(message);
    this.code = code;
    // `USER_CANCEL` on iOS, `USER_CANCELED` on Android.
    this.isCancelled = code.startsWith("USER_CANCEL");
  }
}

/** The start of the SubjectPublicKeyInfo of an uncompressed P-256 point; x||y follows (RFC 5480). */
const SPKI_PREFIX = "3059301306072a8648ce3d020106082a8648ce3d03010703420004";

const fromBase64 = (text: string): Uint8Array =>
  base64urlToBytes(text.replace(/\s/g, "").replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, ""));

function toBase64(bytes: Uint8Array): string {
  const text = bytesToBase64url(bytes).replaceAll("-", "+").replaceAll("_", "/");
  return text + "=".repeat(-text.length & 3);
}

/**
 * Returns a store of one P-256 key in the Secure Enclave or StrongBox. Each signature asks the person for
 * fingerprint, face or code.
 * @example
 * const store = hardwareKeyStore({ module: biometrics, promptTitle: "Sign" });
 */
export function hardwareKeyStore(options: HardwareKeyStoreOptions): KeyStore<HardwareKey> {
  const { module, keyAlias = "countersign.device", promptTitle, allowDeviceCredentials = true, attest } = options;

  function toKey(spki: string): HardwareKey {
    const hex = bytesToHex(fromBase64(spki));
    if (!hex.startsWith(SPKI_PREFIX)) throw new HardwareKeyError("the phone's key is not of P-256");
    return {
      ...canonicalPublicKey({ algorithm: "ES256", publicKey: hex.slice(SPKI_PREFIX.length) }),
      async sign(message) {
        const signed = await module.signWithOptions({
          keyAlias,
          data: toBase64(message),
          inputEncoding: "base64",
          ...(promptTitle !== undefined && { promptTitle }),
        });
        if (!signed.success || signed.signature === undefined) {
          throw new HardwareKeyError(signed.error ?? "the phone did not sign", signed.errorCode);
        }
        return parseSignature(fromBase64(signed.signature));
      },
      async security() {
        const { attributes } = (await module.getKeyAttributes?.(keyAlias)) ?? {};
        if (attributes === undefined) return "unknown";
        return attributes.hardwareBacked ? "hardware" : "software";
      },
      attestation: async (challenge) => attest?.(keyAlias, challenge),
    };
  }

  const load = async (): Promise<HardwareKey | undefined> => {
    const { keys } = await module.getAllKeys(keyAlias);
    const found = keys.find(({ alias }) => alias === keyAlias);
    return found && toKey(found.publicKey);
  };
  const make = async (): Promise<HardwareKey> => {
    try {
      // `true`: never overwrite a key, an account may depend on it.
      const { publicKey } = await module.createKeys(keyAlias, "ec256", undefined, allowDeviceCredentials, true);
      return toKey(publicKey);
    } catch (error) {
      // Another store of the same alias was faster: its key is the phone's.
      const stored = await load();
      if (stored) return stored;
      throw error;
    }
  };
  return {
    load,
    create: createOnce(load, make),
    async remove() {
      await module.deleteKeys(keyAlias);
    },
  };
}

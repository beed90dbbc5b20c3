import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";

/** Options of `simulatedHardware`. */
export interface SimulatedHardwareOptions {
  /** False: the key is not in secure hardware. Default: true. */
  readonly isHardware?: boolean;
  /** Called before each signature: the code with which the phone refuses, such as `USER_CANCELED`; or "". */
  readonly refusal?: () => string;
}

interface SignOptions {
  keyAlias: string;
  data: string;
}

/**
 * Returns the module of a phone's secure hardware with keys in memory, for `hardwareKeyStore` in tests
 * without a phone: the functions of `@sbaiahmed1/react-native-biometrics` that it uses.
 *
 * @example const store = hardwareKeyStore({ module: simulatedHardware() });
 */
export function simulatedHardware({ isHardware = true, refusal = () => "" }: SimulatedHardwareOptions = {}) {
  const keys = new Map<string, { privateKey: KeyObject; publicKey: string }>();
  return {
    async createKeys(alias: string): Promise<{ publicKey: string }> {
      if (keys.has(alias)) throw new Error("KEY_ALREADY_EXISTS");
      const pair = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
      const publicKey = pair.publicKey.export({ format: "der", type: "spki" }).toString("base64");
      keys.set(alias, { privateKey: pair.privateKey, publicKey });
      return { publicKey };
    },
    async signWithOptions({ keyAlias, data }: SignOptions) {
      const errorCode = refusal();
      if (errorCode !== "") return { success: false, error: `the phone refused: ${errorCode}`, errorCode };
      const key = keys.get(keyAlias);
      if (!key) return { success: false, error: "no such key", errorCode: "KEY_NOT_FOUND" };
      const signature = sign("sha256", Buffer.from(data, "base64"), key.privateKey).toString("base64");
      return { success: true, signature };
    },
    async getAllKeys(): Promise<{ keys: { alias: string; publicKey: string }[] }> {
      return { keys: [...keys].map(([alias, { publicKey }]) => ({ alias, publicKey })) };
    },
    async deleteKeys(alias: string): Promise<{ success: boolean }> {
      return { success: keys.delete(alias) };
    },
    async getKeyAttributes(alias: string) {
      return {
        exists: keys.has(alias),
        attributes: { securityLevel: isHardware ? "hardware" : "software", hardwareBacked: isHardware },
      };
    },
  };
}

/**
 * Returns the module of a phone's Keychain or Keystore in memory: the functions of `expo-secure-store` that
 * `secureCredentials` uses.
 *
 * @example const store = secureCredentials(simulatedKeychain());
 */
export function simulatedKeychain() {
  const values = new Map<string, string>();
  return {
    getItemAsync: async (key: string): Promise<string | null> => values.get(key) ?? null,
    setItemAsync: async (key: string, value: string): Promise<void> => void values.set(key, value),
    deleteItemAsync: async (key: string): Promise<void> => void values.delete(key),
  };
}

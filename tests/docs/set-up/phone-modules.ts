// The native modules of docs/react-native.md, all in one: keys and Keychain in memory, a person who logs in
// at the development provider, an app in the foreground that may be notified.
import {
  exchangeCode,
  loginAtDevelopmentProvider,
  newEmail,
  simulatedHardware,
  simulatedKeychain,
} from "@countersign/testing";
import { stack } from "../../support/person.ts";

const { issuer } = stack.identityProvider;

/** The person who holds the phone, and what the phone keeps. */
export const person = { email: newEmail(), closesBrowser: false, refusal: "" };
export const phone = { state: "active", listeners: new Set<() => void>(), kept: [] as string[] };

/** Returns a new phone. */
export const newPhone = () => ({
  hardware: simulatedHardware({ refusal: () => person.refusal }),
  keychain: simulatedKeychain(),
});

export const firstPhone = newPhone();
let held = firstPhone;

/** The person takes this phone in their hand. */
export function hold(other: typeof firstPhone): void {
  held = other;
}

// @sbaiahmed1/react-native-biometrics
type Hardware = ReturnType<typeof simulatedHardware>;
export const createKeys: Hardware["createKeys"] = (alias) => held.hardware.createKeys(alias);
export const signWithOptions: Hardware["signWithOptions"] = (options) => held.hardware.signWithOptions(options);
export const getAllKeys: Hardware["getAllKeys"] = () => held.hardware.getAllKeys();
export const deleteKeys: Hardware["deleteKeys"] = (alias) => held.hardware.deleteKeys(alias);
export const getKeyAttributes: Hardware["getKeyAttributes"] = (alias) => held.hardware.getKeyAttributes(alias);

// expo-crypto
export const getRandomBytes = (length: number) => crypto.getRandomValues(new Uint8Array(length));

// expo-secure-store
export const getItemAsync = (key: string) => held.keychain.getItemAsync(key);
export const deleteItemAsync = (key: string) => held.keychain.deleteItemAsync(key);
export function setItemAsync(key: string, value: string) {
  phone.kept.push(value);
  return held.keychain.setItemAsync(key, value);
}

// expo-auth-session
interface AuthRequestConfig {
  clientId: string;
  redirectUri: string;
  scopes: string[];
  extraParams: { nonce: string };
}
export const fetchDiscoveryAsync = async (given: string) => ({ issuer: given });
export class AuthRequest {
  codeVerifier: string | undefined;
  readonly #config: AuthRequestConfig;
  constructor(config: AuthRequestConfig) {
    this.#config = config;
  }
  async promptAsync() {
    if (person.closesBrowser) return { type: "dismiss" };
    const { clientId, redirectUri, scopes, extraParams } = this.#config;
    const login = { issuer, clientId, redirectUri, email: person.email, nonce: extraParams.nonce };
    const { code, codeVerifier } = await loginAtDevelopmentProvider({ ...login, scope: scopes.join(" ") });
    this.codeVerifier = codeVerifier;
    return { type: "success", params: { code } };
  }
}
interface CodeExchange {
  clientId: string;
  redirectUri: string;
  code: string;
  extraParams: { code_verifier: string };
}
export const exchangeCodeAsync = ({ extraParams, ...code }: CodeExchange, discovery: { issuer: string }) =>
  exchangeCode(discovery.issuer, { ...code, codeVerifier: extraParams.code_verifier, nonce: "" });

// expo-notifications
export const requestPermissionsAsync = async () => ({ granted: true });
export const getDevicePushTokenAsync = async () => ({ type: "ios", data: "ab".repeat(32) });

// react-native
export const AppState = {
  get currentState() {
    return phone.state;
  },
  addEventListener(_type: string, listener: () => void) {
    phone.listeners.add(listener);
    return { remove: () => void phone.listeners.delete(listener) };
  },
};

export {
  type HardwareKey,
  HardwareKeyError,
  type HardwareKeyModule,
  type HardwareKeyStoreOptions,
  hardwareKeyStore,
} from "./hardware-key-store.ts";
export { type SecureCredentialsOptions, type SecureTextStore, secureCredentials } from "./secure-credentials.ts";
export { type XhrConstructor, xhrEvents } from "./xhr-events.ts";

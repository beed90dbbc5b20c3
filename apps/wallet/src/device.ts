import {
  type BrowserPasskey,
  browserCredentials,
  CountersignClient,
  type DeviceKey,
  indexedDbKeyStore,
  type KeyStore,
  passkeyStore,
} from "@countersign/client";
import { config } from "./config.ts";

/** The two phones of the page. */
export type PhoneId = "one" | "two";
/** Where a phone's key is: in WebCrypto, or a passkey of this browser or system. */
export type KeyKind = "device" | "passkey";

const read = (name: string): string | undefined => localStorage.getItem(name) ?? undefined;

/**
 * One phone as a device of its own: its key, tokens and notes are under names that only it uses. Wiping it
 * makes it a new phone: the old key stays where it is, because an account may depend on it.
 */
export class WalletDevice {
  readonly id: PhoneId;
  readonly namespace: string;

  constructor(id: PhoneId) {
    this.id = id;
    this.namespace = `wallet/${id}/${read(`wallet/${id}`) ?? "1"}`;
  }

  /** Returns the next phone of this place, without key or session. */
  wiped(): WalletDevice {
    localStorage.setItem(`wallet/${this.id}`, String(Number(read(`wallet/${this.id}`) ?? "1") + 1));
    return new WalletDevice(this.id);
  }

  note(name: string): string | undefined {
    return read(`${this.namespace}/${name}`);
  }

  keep(name: string, value: string): void {
    localStorage.setItem(`${this.namespace}/${name}`, value);
  }

  /** The kind of the key that this phone has; undefined while it has none. */
  get kind(): KeyKind | undefined {
    return this.note("kind") as KeyKind | undefined;
  }

  #keys(kind: KeyKind): KeyStore<DeviceKey | BrowserPasskey> {
    if (kind === "device") return indexedDbKeyStore({ database: this.namespace });
    const { namespace } = this;
    return passkeyStore({
      rpId: location.hostname,
      rpName: "Countersign Wallet",
      // Shown by the browser beside other passkeys of this page.
      userName: `Phone ${this.id === "one" ? 1 : 2}, ${new Date().toLocaleString()}`,
      storage: {
        getItem: (name) => localStorage.getItem(`${namespace}/${name}`),
        setItem: (name, value) => localStorage.setItem(`${namespace}/${name}`, value),
        removeItem: (name) => localStorage.removeItem(`${namespace}/${name}`),
      },
    });
  }

  /** Returns the client of this phone's key; creates the key where `kind` names one and there is none yet. */
  async open(kind: KeyKind | undefined): Promise<CountersignClient | undefined> {
    const wanted = this.kind ?? kind;
    if (wanted === undefined) return undefined;
    const keys = this.#keys(wanted);
    const deviceKey = (await keys.load()) ?? (kind === undefined ? undefined : await keys.create());
    if (deviceKey === undefined) return undefined;
    this.keep("kind", wanted);
    const store = browserCredentials({ name: `${this.namespace}/session` });
    return new CountersignClient({ baseUrl: config.gateway, deviceKey, store });
  }
}

/**
 * The owner of passkeys: a passkey is made for one RP id, and used from that relying party's origins only.
 */
export interface RelyingParty {
  /** A domain name, such as `wallet.example.com`; `localhost` in development. */
  readonly rpId: string;
  /** Each exactly as clients write it: see `isOrigin`. */
  readonly origins: readonly string[];
}

const DOMAIN = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const HTTPS = /^https:\/\/([^/:]+)(?::[1-9]\d{0,4})?$/;
const LOCAL = /^http:\/\/(localhost)(?::[1-9]\d{0,4})?$/;
/** Android's credential manager: SHA-256 of the certificate that signed the app. */
const ANDROID = /^android:apk-key-hash(?:-sha256)?:[A-Za-z0-9_-]{43}$/;
/** An app of iOS with its own name; with the system's own passkeys the origin is `https://<rp id>`. */
const IOS = /^ios:bundle-id:[A-Za-z0-9.-]{1,155}$/;

/**
 * Pages inside an app: Capacitor and Ionic on iOS, Tauri on macOS and Linux, and on Windows. Every such app
 * has the same one.
 */
const WEB_VIEWS: readonly string[] = [
  "capacitor://localhost",
  "ionic://localhost",
  "tauri://localhost",
  "https://tauri.localhost",
];

/**
 * Returns whether a text is, letter for letter, the origin of an app's web view.
 * @example isWebViewOrigin("capacitor://localhost"); // => true
 */
export const isWebViewOrigin = (text: string): boolean => WEB_VIEWS.includes(text);

/**
 * Returns whether a text can be a relying party's id: a domain in lower case, never an address.
 * @example
 * isRpId("wallet.example.com"); // => true
 * isRpId("127.0.0.1"); // => false
 */
export const isRpId = (text: string): boolean => DOMAIN.test(text) && !/^[\d.]+$/.test(text);

/**
 * Returns whether a text can be an origin of `rpId`: `https` (plain `http` for localhost only) of that domain
 * or one below it, or a form of apps, which names no domain.
 * @example
 * isOrigin("https://wallet.example.com", "example.com"); // => true
 * isOrigin("http://wallet.example.com", "example.com"); // => false
 */
export function isOrigin(text: string, rpId: string): boolean {
  if (ANDROID.test(text) || IOS.test(text) || isWebViewOrigin(text)) return true;
  const host = (HTTPS.exec(text) ?? LOCAL.exec(text))?.[1];
  if (host === undefined || !isRpId(host)) return false;
  return host === rpId || host.endsWith(`.${rpId}`);
}

/** The relying parties whose passkeys each app accepts. */
export interface PasskeySettings {
  /**
   * Returns the relying parties of an app; an empty list means that its passkeys are refused.
   * @example
   * const relyingPartiesOf = (appId: string) => (appId === "wallet" ? relyingParties : []);
   * const settings: PasskeySettings = { relyingPartiesOf };
   */
  relyingPartiesOf(appId: string): readonly RelyingParty[];
}

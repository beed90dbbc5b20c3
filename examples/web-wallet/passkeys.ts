import { type BrowserPasskey, browserPasskey, createBrowserPasskey } from "@countersign/client";

/**
 * The page's record of a passkey; the browser keeps its private half. Entries are never overwritten by
 * another passkey or removed: once a sign-up was sent with it, the passkey may be the only key of an account.
 */
export interface KnownPasskey {
  publicKey: string;
  credentialId: string;
  rpId: string;
  /** "new": no sign-up was sent with it. "sent": what became of its sign-up is not known. */
  state: "new" | "sent" | "signed-up";
  /** The account's address on chain; "" until it is known. */
  address: string;
}

const PREFIX = "passkey:";
const LAST = "last-login";

/** Stores a passkey under an entry of its own: two open pages cannot overwrite each other's. */
export const keep = (passkey: KnownPasskey): void =>
  localStorage.setItem(PREFIX + passkey.publicKey, JSON.stringify(passkey));

export function knownPasskeys(): KnownPasskey[] {
  return Object.keys(localStorage)
    .filter((name) => name.startsWith(PREFIX))
    .map((name) => JSON.parse(localStorage.getItem(name) ?? "null") as KnownPasskey);
}

export const knownPasskey = (publicKey: string): KnownPasskey | undefined =>
  knownPasskeys().find((passkey) => passkey.publicKey === publicKey);

/** Returns the passkeys to sign in with, the one of the last login first. */
export function accounts(): KnownPasskey[] {
  const last = localStorage.getItem(LAST);
  return knownPasskeys()
    .filter(({ state }) => state !== "new")
    .sort((a, b) => Number(b.publicKey === last) - Number(a.publicKey === last));
}

/** Notes that a person is sent to log in for this passkey. */
export const loginBegins = ({ publicKey }: KnownPasskey): void => localStorage.setItem(LAST, publicKey);

/**
 * Returns whether the last login, finished or not, was for this passkey: the identity provider may know that
 * person still.
 */
export const isLast = ({ publicKey }: KnownPasskey): boolean => localStorage.getItem(LAST) === publicKey;

/**
 * Returns a passkey that no sign-up was sent with yet: one that an aborted login left, or one that is made
 * now.
 */
export async function passkeyForSignUp(): Promise<KnownPasskey> {
  const unused = knownPasskeys().find(({ state }) => state === "new");
  if (unused) return unused;
  const made = await createBrowserPasskey({
    rpId: location.hostname,
    rpName: "Countersign",
    userName: `wallet ${new Date().toLocaleString()}`,
  });
  const { publicKey, credentialId, rpId } = made;
  const passkey: KnownPasskey = { publicKey, credentialId, rpId, state: "new", address: "" };
  keep(passkey);
  return passkey;
}

export const deviceKeyOf = (passkey: KnownPasskey): BrowserPasskey => browserPasskey(passkey);

import type { Login } from "@countersign/client";
import type { WalletDevice } from "../device.ts";
import { logIn } from "../login.ts";

/** A login may be used for ten minutes; it is never stored, so a new page has none. */
const GOOD_FOR_MS = 8 * 60_000;
const logins = new Map<string, { login: Login; until: number }>();

export function rememberLogin(device: WalletDevice, login: Login): void {
  logins.set(device.namespace, { login, until: Date.now() + GOOD_FOR_MS });
}

/** Returns the phone's login of the last minutes, or has the person log in. */
export async function recentLogin(device: WalletDevice, nonce: string): Promise<Login> {
  const known = logins.get(device.namespace);
  if (known && known.until > Date.now()) return known.login;
  const { login } = await logIn(nonce, device.note("email"));
  rememberLogin(device, login);
  return login;
}

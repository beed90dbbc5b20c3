import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

export interface ProviderAccount {
  /** The `sub` of tokens: the same for the same address in any letter case. */
  sub: string;
  email: string;
  name: string;
}

/** The people who have logged in, kept in one JSON file: a token may be asked for after a restart. */
export class Accounts {
  readonly #path: string;
  readonly #accounts: Map<string, ProviderAccount>;

  constructor(path: string) {
    this.#path = path;
    const known = existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as ProviderAccount[]) : [];
    this.#accounts = new Map(known.map((account) => [account.sub, account]));
  }

  find(sub: string): ProviderAccount | undefined {
    return this.#accounts.get(sub);
  }

  /** The account of an e-mail address, made at the first log-in; undefined when it is no address. */
  logIn(input: string): ProviderAccount | undefined {
    const email = input.trim().toLowerCase();
    if (email.length > 254 || !/^[^\s@<>"]+@[^\s@<>"]+$/.test(email)) return undefined;
    const sub = createHash("sha256").update(email).digest("base64url").slice(0, 22);
    const known = this.#accounts.get(sub);
    if (known) return known;
    const account = { sub, email, name: displayName(email) };
    this.#accounts.set(sub, account);
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
    writeFileSync(`${this.#path}.new`, JSON.stringify([...this.#accounts.values()]), { mode: 0o600 });
    renameSync(`${this.#path}.new`, this.#path);
    return account;
  }
}

/** Returns "Ada Lovelace" for "ada.lovelace@example.com". */
function displayName(email: string): string {
  const words = (email.split("@")[0] as string).split(/[._+-]+/).filter(Boolean);
  return words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join(" ") || email;
}

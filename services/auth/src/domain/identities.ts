import type { PublicKey } from "@countersign/keys";

export interface IdentityStore {
  /** Returns the account of an identity. */
  accountOf(issuer: string, subject: string): Promise<string | undefined>;
  /** Returns the only account that signed up with this key; for development without login tokens. */
  accountByKey(key: PublicKey): Promise<string | undefined>;
  /** Returns the only account with this e-mail address; for development without login tokens. */
  accountByEmail(email: string): Promise<string | undefined>;
}

export interface ContactStore {
  /** Returns the e-mail address that the provider reported; undefined where the account has none. */
  emailOf(accountId: string): Promise<string | undefined>;
}

import type { CredentialStore } from "./credential-store.ts";
import type { Credentials } from "./resources.ts";

/**
 * The pair of a store that may fail to save. The store then still has an earlier pair with a used refresh
 * token, and using that again would end the session.
 */
export class StoredPair {
  readonly #store: CredentialStore;
  readonly #own: () => Credentials | undefined;
  /** The refresh token that the store has since saving failed, "" for none. */
  #outdated: string | undefined;
  /** The save that is under way; fulfilled when it ends. */
  #saving: Promise<void> = Promise.resolve();

  /** `own`: the client's pair at the moment. */
  constructor(store: CredentialStore, own: () => Credentials | undefined) {
    this.#store = store;
    this.#own = own;
  }

  /** Returns what the store has, or the client's own pair where saving that one failed. */
  async load(): Promise<Credentials | undefined> {
    const stored = await this.#store.load();
    return (stored?.refreshToken ?? "") === this.#outdated ? this.#own() : stored;
  }

  /**
   * Stores the pair that follows `before`, after the saves that came before: a slow store must not end with
   * an older pair. Errors: those of the store.
   */
  async save(credentials: Credentials | undefined, before: Credentials | undefined): Promise<void> {
    const saving = this.#saving.then(() => this.#store.save(credentials));
    this.#saving = saving.catch(() => undefined);
    try {
      await saving;
      this.#outdated = undefined;
    } catch (error) {
      this.#outdated ??= before?.refreshToken ?? "";
      throw error;
    }
  }
}

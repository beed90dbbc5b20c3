/** Where contacts are kept. */
export interface ContactStore {
  /** The e-mail address that the provider vouched for; undefined where the account has none. */
  emailOf(accountId: string): Promise<string | undefined>;
}

/** The e-mail address of an account, "" where none is known. */
export function getContact({ contacts }: { contacts: ContactStore }) {
  return async (accountId: string): Promise<{ email: string }> => ({
    email: (await contacts.emailOf(accountId)) ?? "",
  });
}

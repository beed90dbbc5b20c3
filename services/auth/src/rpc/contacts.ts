import { invalidField, isUuid } from "@countersign/core";
import type { ContactsService } from "@countersign/proto/auth/v1/contacts.ts";
import type { Handlers } from "@countersign/rpc";
import type { ContactStore } from "../domain/login.ts";

const MAX_ACCOUNTS = 500;

/** Handles auth.v1.Contacts. */
export const contactsHandlers = (contacts: ContactStore): Handlers<ContactsService> => ({
  async listEmails({ accountIds }) {
    if (accountIds.length > MAX_ACCOUNTS) throw invalidField("/accountIds", `has more than ${MAX_ACCOUNTS}`);
    if (!accountIds.every(isUuid)) throw invalidField("/accountIds", "are not UUIDs");
    return { emails: await contacts.listEmails(accountIds) };
  },

  async getContact({ accountId }) {
    if (!isUuid(accountId)) throw invalidField("/accountId", "is not a UUID");
    const [email = ""] = await contacts.listEmails([accountId]);
    return { email };
  },

  async listApps({ accountId, sessionId }) {
    if (!isUuid(accountId)) throw invalidField("/accountId", "is not a UUID");
    if (sessionId !== "" && !isUuid(sessionId)) throw invalidField("/sessionId", "is not a UUID");
    return { appIds: await contacts.appsOf(accountId, sessionId === "" ? undefined : sessionId) };
  },
});

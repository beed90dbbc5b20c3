import { invalidField, isUuid } from "@countersign/core";
import type { ContactsService } from "@countersign/proto/auth/v1/contacts.ts";
import type { Handlers } from "@countersign/rpc";
import type { ContactStore } from "../domain/login.ts";

/** Handles auth.v1.Contacts. */
export const contactsHandlers = (contacts: ContactStore): Handlers<ContactsService> => ({
  async getContact({ accountId }) {
    if (!isUuid(accountId)) throw invalidField("/accountId", "is not a UUID");
    return { email: (await contacts.emailOf(accountId)) ?? "" };
  },

  async listApps({ accountId, sessionId }) {
    if (!isUuid(accountId)) throw invalidField("/accountId", "is not a UUID");
    if (sessionId !== "" && !isUuid(sessionId)) throw invalidField("/sessionId", "is not a UUID");
    return { appIds: await contacts.appsOf(accountId, sessionId === "" ? undefined : sessionId) };
  },
});

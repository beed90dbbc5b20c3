import { AppError, isUuid } from "@countersign/core";
import type { ContactsService } from "@countersign/proto/auth/v1/contacts.ts";
import type { Handler } from "@countersign/rpc";
import type { getContact } from "../domain/get-contact.ts";

/** auth.v1.Contacts/GetContact */
export const getContactRpc =
  (command: ReturnType<typeof getContact>): Handler<ContactsService["getContact"]> =>
  async ({ accountId }) => {
    if (!isUuid(accountId)) {
      throw new AppError("InvalidRequest", { fields: [{ pointer: "/accountId", detail: "is not a UUID" }] });
    }
    return command(accountId);
  };

import { uuidv4 } from "@countersign/core";
import { expect, it } from "vitest";
import { contactsHandlers } from "./contacts.ts";

const listEmails = async (accountIds: readonly string[]) => accountIds.map((id) => `${id}@example.com`);
const handlers = contactsHandlers({ listEmails, appsOf: async () => [] });
const list = async (accountIds: string[]) => handlers.listEmails({ accountIds }, undefined as never);

it("answers the e-mail addresses of accounts in their order", async () => {
  const ids = [uuidv4(), uuidv4()];
  expect(await list(ids)).toEqual({ emails: ids.map((id) => `${id}@example.com`) });
});

it.each([
  ["a text that is no account", ["x"]],
  ["too many accounts", Array.from({ length: 501 }, () => uuidv4())],
])("refuses %s", async (_, accountIds) => {
  await expect(list(accountIds)).rejects.toMatchObject({ reason: "InvalidRequest" });
});

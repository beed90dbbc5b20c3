import { uuidv4 } from "@countersign/core";
import { expect, it } from "vitest";
import { now, postgres, prisma } from "../testing/store-fixture.ts";
import { postgresContactStore } from "./postgres-contact-store.ts";

it("finds the e-mail addresses of accounts that are asked for at once", async () => {
  const accounts = ["ada@example.com", "bob@example.com", ""].map((email) => ({ accountId: uuidv4(), email }));
  await prisma.identity.createMany({
    data: accounts.map((account) => ({
      ...account,
      issuer: "i",
      subject: account.accountId,
      name: "",
      createdAt: now,
    })),
  });
  const asked = [...accounts, { accountId: uuidv4() }, accounts[0]!].map(({ accountId }) => accountId);
  const emails = await postgresContactStore(prisma, postgres).listEmails(asked);
  expect(emails).toEqual(["ada@example.com", "bob@example.com", "", "", "ada@example.com"]);
});

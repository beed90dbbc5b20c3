import { AppError } from "@countersign/core";
import { expect, it } from "vitest";
import { SERVICES, type ServiceName, type Services } from "../services.ts";
import { findAccounts } from "./read.ts";

const accountId = "01a1fc59-f059-70b8-9ddc-021b7279cf4f";
const reason = "a ticket of today";

/** Services of which `away` do not answer, and auth knows the account. */
const servicesWithout = (...away: ServiceName[]) => {
  const of = (service: ServiceName) => ({
    async findAccounts() {
      if (away.includes(service)) throw new AppError("Unavailable");
      return { accountIds: service === "auth" ? [accountId] : [] };
    },
  });
  return { each: Object.fromEntries(SERVICES.map((service) => [service, of(service)])) } as unknown as Services;
};

it("an account is found while a service does not answer that does not know it alone", async () => {
  expect(await findAccounts(servicesWithout("signer"), reason, accountId)).toEqual([accountId]);
  await expect(findAccounts(servicesWithout("auth"), reason, accountId)).rejects.toThrow("Unavailable");
  expect(await findAccounts(servicesWithout(), reason, "no term")).toBeUndefined();
});

import { AppError, type VerifiedToken } from "@countersign/core";
import { expect, it } from "vitest";
import { accountId, signal } from "../testing/chain-account.ts";
import { accountsHandlers } from "./accounts.ts";
import { serverKeysHandlers } from "./server-keys.ts";

const token = { accountId, scope: "full" };
const call = { token, signal } as never;

it("reports of parents and lists of rotations read the chain within the limit of their device only", async () => {
  const counted: VerifiedToken[] = [];
  let read = 0;
  const readsChain = (by: VerifiedToken): void => {
    counted.push(by);
    throw new AppError("RateLimited");
  };
  const link = async () => {
    read += 1;
    throw new AppError("ParentNotLinked");
  };
  const accounts = { find: link };
  const { linkParent } = accountsHandlers({ readsChain, link } as never);
  const { listServerKeyRotations } = serverKeysHandlers({ readsChain, accounts } as never);
  await expect(linkParent({}, call)).rejects.toMatchObject({ reason: "RateLimited" });
  await expect(listServerKeyRotations({}, call)).rejects.toMatchObject({ reason: "RateLimited" });
  expect([counted, read]).toEqual([[token, token], 0]);
});

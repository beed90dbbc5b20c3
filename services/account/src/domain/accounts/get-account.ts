import { AppError } from "@countersign/core";
import type { AccountStore } from "../ports.ts";
import type { AccountDeployment } from "./account.ts";

/**
 * Returns an account with its deployment on `chainName`, or without one for an empty name. Errors:
 * AccountNotFound.
 */
export const getAccount =
  ({ store }: { store: Pick<AccountStore, "find"> }) =>
  async (accountId: string, chainName = ""): Promise<AccountDeployment> => {
    const found = await store.find(accountId, chainName);
    if (!found) throw new AppError("AccountNotFound");
    return found;
  };

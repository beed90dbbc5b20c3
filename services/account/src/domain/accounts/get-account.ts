import { AppError } from "@countersign/core";
import type { AccountStore } from "../ports.ts";
import type { AccountDeployment } from "./account.ts";

/** An account with its deployment on `chainName`; an empty name asks for the account alone. Errors: AccountNotFound. */
export const getAccount =
  ({ store }: { store: Pick<AccountStore, "find"> }) =>
  async (accountId: string, chainName = ""): Promise<AccountDeployment> => {
    const found = await store.find(accountId, chainName);
    if (!found) throw new AppError("AccountNotFound");
    return found;
  };

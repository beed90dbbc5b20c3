import { AppError } from "@countersign/errors";
import { MAX_ACCOUNTS_PER_CREATION } from "@countersign/flow";
import type { PublicKey } from "@countersign/keys";
import type { ChainPolicy } from "../policy/transaction.ts";
import type { Vault } from "../vault/index.ts";

/** A new account starts with this version; a rotation appends the next. */
export const FIRST_SERVER_KEY_VERSION = 1;

/** The public server keys of accounts on a chain, in the order asked. Errors: UnknownChain, InvalidRequest. */
export const deriveServerKeys =
  ({ vault, chain }: { vault: Vault; chain(name: string): ChainPolicy }) =>
  async (chainName: string, accountIds: readonly string[]): Promise<PublicKey[]> => {
    chain(chainName);
    if (accountIds.length === 0 || accountIds.length > MAX_ACCOUNTS_PER_CREATION) {
      throw new AppError("InvalidRequest", { fields: [{ pointer: "/accountIds", detail: "one to ten" }] });
    }
    return Promise.all(
      accountIds.map((accountId) =>
        vault.publicKey({ role: "server", chainName, accountId, version: FIRST_SERVER_KEY_VERSION }),
      ),
    );
  };

import type { VerifiedToken } from "@countersign/service-kit";
import { requireFullScope, requireOwnAccount } from "../policy/account.ts";
import { type ChainPolicy, checkAuthorizerKind, checkTransaction } from "../policy/transaction.ts";
import type { Decide, SignedMessage } from "./decide.ts";
import type { BindingStore } from "./ports.ts";

/** A user's message for one of our keys. */
export interface SignCommand {
  readonly message: Uint8Array;
  /** Empty unless the account has the same address on two chains. */
  readonly chainName: string;
  readonly token: VerifiedToken;
  readonly caller: string;
}

export interface SignOptions {
  readonly decide: Decide;
  readonly bindings: BindingStore;
  chain(name: string): ChainPolicy;
}

/** The server key's signature over a transaction of the token's own account; see policy/transaction.ts for the rules. */
export const signTransaction =
  ({ decide, bindings, chain }: SignOptions) =>
  ({ message, chainName, token, caller }: SignCommand): Promise<SignedMessage> =>
    decide(
      "transaction",
      message,
      { caller, accountId: token.accountId, sessionId: token.sessionId },
      async (decoded) => {
        requireFullScope(token);
        if (chainName !== "") chain(chainName);
        const account = requireOwnAccount(decoded, await bindings.find(token.accountId), chainName);
        checkTransaction(decoded, account, chain(account.chainName));
        checkAuthorizerKind(decoded, account);
        const { accountId, address, serverKeyIndex, serverKeyVersion } = account;
        return {
          key: { role: "server", chainName: account.chainName, accountId, version: serverKeyVersion },
          address,
          keyId: serverKeyIndex,
        };
      },
    );

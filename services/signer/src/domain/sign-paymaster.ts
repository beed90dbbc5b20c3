import { requireFullScope, requireOwnAccount } from "../policy/account.ts";
import {
  checkPaymasterKind,
  checkPaymasterOnlyPays,
  checkPaymasterPays,
  checkUserSignature,
} from "../policy/paymaster.ts";
import { checkTransaction } from "../policy/transaction.ts";
import type { SignedMessage } from "./decide.ts";
import type { SignCommand, SignOptions } from "./sign-transaction.ts";

export interface SignPaymasterOptions extends SignOptions {
  /** The paymasters of all chains: none of them may authorize anywhere. */
  readonly paymasters: ReadonlySet<string>;
}

/** The paymaster's signature over an envelope of the token's own account; see policy/paymaster.ts for the rules. */
export const signPaymaster =
  ({ decide, bindings, chain, paymasters }: SignPaymasterOptions) =>
  ({ message, chainName, token, caller }: SignCommand): Promise<SignedMessage> =>
    decide(
      "paymaster",
      message,
      { caller, accountId: token.accountId, sessionId: token.sessionId },
      async (decoded) => {
        requireFullScope(token);
        if (chainName !== "") chain(chainName);
        checkPaymasterKind(decoded);
        checkPaymasterOnlyPays(decoded, paymasters);
        const account = requireOwnAccount(decoded, await bindings.find(token.accountId), chainName);
        const policy = chain(account.chainName);
        checkPaymasterPays(decoded, policy);
        checkTransaction(decoded, account, policy);
        checkUserSignature(decoded, account, token);
        return { key: { role: "paymaster", chainName: account.chainName }, ...policy.paymaster };
      },
    );

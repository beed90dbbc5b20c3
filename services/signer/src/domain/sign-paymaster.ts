import type { PasskeySettings } from "@countersign/service-kit";
import { requireOwnAccount } from "../policy/account.ts";
import {
  checkPaymasterKind,
  checkPaymasterOnlyPays,
  checkPaymasterPays,
  checkServerSignature,
  checkUserSignature,
} from "../policy/paymaster.ts";
import { checkTransaction, paymasterVersion } from "../policy/transaction.ts";
import type { SignedMessage } from "./decide.ts";
import {
  checkFreeScript,
  checkHistory,
  checkRotation,
  checkTemplate,
  countEphemeralUse,
  type SignCommand,
  type SignOptions,
  serverKeyOf,
  templateFor,
} from "./sign-transaction.ts";

export interface SignPaymasterOptions extends SignOptions {
  /** The paymasters of all chains: none of them may authorize anywhere. */
  readonly paymasters: ReadonlySet<string>;
  readonly passkeys: PasskeySettings;
}

/** The paymaster's signature over an envelope of the token's own account; see policy/paymaster.ts for the rules. */
export const signPaymaster = (options: SignPaymasterOptions) => {
  const { decide, bindings, chain, paymasters, passkeys, vault } = options;
  return ({ message, chainName, token, caller }: SignCommand): Promise<SignedMessage> =>
    decide(
      "paymaster",
      message,
      { caller, accountId: token.accountId, sessionId: token.sessionId },
      async (decoded, deciding) => {
        options.checkBackend?.(caller, token);
        if (chainName !== "") chain(chainName);
        checkPaymasterKind(decoded);
        checkPaymasterOnlyPays(decoded, paymasters);
        const account = requireOwnAccount(decoded, await bindings.find(token.accountId), chainName);
        const policy = chain(account.chainName);
        const template = templateFor(token, decoded, policy);
        checkPaymasterPays(decoded, policy);
        if (template) await checkRotation(options, template, decoded, account);
        checkTransaction(decoded, account, policy, template, deciding.policy);
        if (template) await checkTemplate(options, template, account, caller);
        if (token.scope !== "sign")
          await checkUserSignature(decoded, account, token, passkeys.relyingPartiesOf(token.appId));
        else checkServerSignature(decoded, account, await vault.publicKey(serverKeyOf(account)));
        if (!template) await checkFreeScript(options.scripts, decoded, deciding, token.accountId);
        await checkHistory(options, decoded, template, token, account);
        await countEphemeralUse(options, token, "paymaster");
        const { address, keyId } = policy.paymaster;
        const key = { role: "paymaster", chainName: account.chainName, version: paymasterVersion(policy) } as const;
        const { chainName: name, accountId } = account;
        const spender = { operation: "paymaster", chainName: name, accountId, appId: token.appId, caller } as const;
        return { key, address, keyId, reservation: options.reserve(decoded, spender, deciding.policy) };
      },
    );
};

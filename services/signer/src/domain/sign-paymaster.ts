import type { VerifiedToken } from "@countersign/core";
import type { DecodedMessage } from "@countersign/flow";
import type { PasskeySettings } from "@countersign/keys";
import { type Binding, requireOwnAccount } from "../policy/account.ts";
import {
  checkApproverSignature,
  checkPaymasterKind,
  checkPaymasterOnlyPays,
  checkPaymasterPays,
  checkServerSignature,
  checkUserSignature,
} from "../policy/paymaster.ts";
import { addedUserKey, type Template } from "../policy/template.ts";
import { checkTransaction, paymasterVersion, referenceSeconds } from "../policy/transaction.ts";
import { type Approval, approversOf, recordAddition } from "./added-keys.ts";
import { requesterOf, type SignedMessage } from "./decide.ts";
import {
  checkFreeScript,
  checkHistory,
  checkRotation,
  checkSignatures,
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
  const { decide, bindings, chain, paymasters } = options;
  return ({ message, chainName, token, caller }: SignCommand): Promise<SignedMessage> =>
    decide("paymaster", message, requesterOf(token, caller), async (decoded, deciding) => {
      options.checkBackend?.(caller, token);
      if (chainName !== "") chain(chainName);
      checkPaymasterKind(decoded);
      checkPaymasterOnlyPays(decoded, paymasters);
      const account = requireOwnAccount(decoded, await bindings.find(token.accountId), chainName);
      checkSignatures(options, decoded, account);
      const policy = chain(account.chainName);
      const template = templateFor(token, decoded, policy);
      checkPaymasterPays(decoded, policy);
      if (template) await checkRotation(options, template, decoded, account);
      checkTransaction(decoded, account, policy, template, deciding.policy);
      if (template) await checkTemplate(options, template, account, caller);
      const approval = await checkApproval(options, decoded, account, token, template);
      if (!template) await checkFreeScript(options.scripts, decoded, deciding, token.accountId);
      await checkHistory(options, decoded, template, token, account);
      if (template) await recordAdditionOf(options, template, account, approval);
      await countEphemeralUse(options, token, "paymaster");
      const { address, keyId } = policy.paymaster;
      const key = { role: "paymaster", chainName: account.chainName, version: paymasterVersion(policy) } as const;
      const { chainName: name, accountId } = account;
      const spender = { operation: "paymaster", chainName: name, accountId, appId: token.appId, caller } as const;
      return { key, address, keyId, reservation: options.reserve(decoded, spender, deciding.policy) };
    });
};

/**
 * Returns which key of the account approves the message: the session's own, or for an ephemeral token, whose
 * key is not on the account yet, one that the signer knows; then the server key must have signed as well.
 */
async function checkApproval(
  options: SignPaymasterOptions,
  decoded: DecodedMessage,
  account: Binding,
  token: VerifiedToken,
  template: Template | undefined,
): Promise<Approval> {
  const { passkeys, vault } = options;
  const relyingParties = passkeys.relyingPartiesOf(token.appId);
  if (token.scope !== "sign") {
    await checkUserSignature(decoded, account, token, relyingParties);
    return { approver: token.accountKey, isRecoveryKey: token.scope === "recover" };
  }
  checkServerSignature(decoded, account, await vault.publicKey(serverKeyOf(account)));
  const approvals = await approversOf(options, account, addedUserKey(template) ?? token.accountKey);
  const keys = approvals.map(({ approver }) => approver);
  const approver = await checkApproverSignature(decoded, account, keys, relyingParties);
  return approvals.find((each) => each.approver === approver)!;
}

/** An addition that was signed longer ago than its reference block lives has run, or never will. */
function recordAdditionOf(
  { addedKeys, clock, chain }: SignPaymasterOptions,
  template: Template,
  account: Binding,
  approval: Approval,
): Promise<void> {
  const now = clock.now();
  const renewableSince = new Date(now.getTime() - referenceSeconds(chain(account.chainName)) * 1000);
  return recordAddition(addedKeys, template, account, approval, { now, renewableSince });
}

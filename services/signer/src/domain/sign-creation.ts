import type { CreationReserve } from "../budget/reserve.ts";
import { checkCreation, checkCreationAccounts } from "../policy/creation.ts";
import { refuse } from "../policy/refusal.ts";
import { type ChainPolicy, creatorVersion } from "../policy/transaction.ts";
import { ownPublicKeys, type Vault } from "../vault/index.ts";
import type { Decide, SignedMessage } from "./decide.ts";
import { FIRST_SERVER_KEY_VERSION } from "./derive-server-keys.ts";
import type { BindingStore } from "./ports.ts";

export interface SignCreationCommand {
  readonly chainName: string;
  readonly message: Uint8Array;
  /** Account i of the message's lists. */
  readonly accountIds: readonly string[];
  readonly caller: string;
}

export interface SignCreationOptions {
  readonly decide: Decide;
  readonly bindings: BindingStore;
  readonly vault: Vault;
  readonly reserve: CreationReserve;
  chain(name: string): ChainPolicy;
}

/** The creator's signature over the creation of these accounts, counted in the service's budgets of creations; see policy/creation.ts for the rules. */
export const signCreation =
  ({ decide, bindings, vault, reserve, chain }: SignCreationOptions) =>
  ({ chainName, message, accountIds, caller }: SignCreationCommand): Promise<SignedMessage> => {
    const policy = chain(chainName);
    return decide("creation", message, { caller, accountId: "", sessionId: "" }, async (decoded, deciding) => {
      checkCreationAccounts(accountIds);
      const serverKeys = await Promise.all(
        accountIds.map((accountId) =>
          vault.publicKey({ role: "server", chainName, accountId, version: FIRST_SERVER_KEY_VERSION }),
        ),
      );
      checkCreation(decoded, serverKeys, policy, await ownPublicKeys(vault, chainName));
      const [bound] = await bindings.bound(chainName, accountIds);
      if (bound) refuse("BadCreation", "an account that is deployed already");
      return {
        key: { role: "creator", chainName, version: creatorVersion(policy, decoded.proposalKey.keyId) },
        address: policy.creator.address,
        keyId: decoded.proposalKey.keyId,
        reservation: reserve(decoded, { chainName, accounts: accountIds.length }, deciding.policy),
      };
    });
  };

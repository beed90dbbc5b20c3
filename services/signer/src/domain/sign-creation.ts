import type { Clock } from "@countersign/core";
import type { CreationReserve } from "../budget/reserve.ts";
import { checkCreation, checkCreationAccounts, checkCreationVersion } from "../policy/creation.ts";
import { refuse } from "../policy/refusal.ts";
import { type ChainPolicy, creatorVersion, wantedServerKeyVersion } from "../policy/transaction.ts";
import { ownPublicKeys, type Vault } from "../vault/index.ts";
import type { AddedKeys } from "./added-keys.ts";
import type { Decide, SignedMessage } from "./decide.ts";
import type { BindingStore, SignedCreations } from "./ports.ts";

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
  readonly signedCreations: SignedCreations;
  readonly addedKeys: Pick<AddedKeys, "recordCreation">;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly reserve: CreationReserve;
  chain(name: string): ChainPolicy;
}

/**
 * The creator's signature over the creation of these accounts, counted in the service's budgets of creations; see policy/creation.ts for the rules. Their server keys are of the version that accounts
 * are brought to, and no other is bound later than one signed here. Errors: SigningRefused, MessageRenewed where the keys are of another version: derived before it was wanted.
 */
export const signCreation =
  ({ decide, bindings, signedCreations, addedKeys, vault, clock, reserve, chain }: SignCreationOptions) =>
  ({ chainName, message, accountIds, caller }: SignCreationCommand): Promise<SignedMessage> => {
    const policy = chain(chainName);
    const asker = { caller, accountId: "", sessionId: "", countedAs: "" };
    return decide("creation", message, asker, async (decoded, deciding) => {
      checkCreationAccounts(accountIds);
      const version = wantedServerKeyVersion(policy);
      const keysOf = (of: number) =>
        Promise.all(
          accountIds.map((accountId) => vault.publicKey({ role: "server", chainName, accountId, version: of })),
        );
      const serverKeys = await keysOf(version);
      const otherVersions = vault.versions("server").filter((other) => other !== version);
      const others = (await Promise.all(otherVersions.map(keysOf))).flat();
      checkCreationVersion(decoded, others);
      const userKeys = checkCreation(decoded, serverKeys, policy, [
        ...others,
        ...(await ownPublicKeys(vault, chainName)),
      ]);
      const [bound] = await bindings.bound(chainName, accountIds);
      if (bound) refuse("BadCreation", "an account that is deployed already");
      // Before the signature leaves: only a creation signed here is bound, and its user keys are the first.
      const now = clock.now();
      const keys = accountIds.map((accountId, i) => ({ accountId, key: userKeys[i]! }));
      await Promise.all([
        signedCreations.note(chainName, accountIds, version, now),
        addedKeys.recordCreation(chainName, keys, now),
      ]);
      return {
        key: { role: "creator", chainName, version: creatorVersion(policy, decoded.proposalKey.keyId) },
        address: policy.creator.address,
        keyId: decoded.proposalKey.keyId,
        reservation: reserve(decoded, { chainName, accounts: accountIds.length }, deciding.policy),
      };
    });
  };

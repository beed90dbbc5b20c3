import type { Clock } from "@countersign/core";
import type { ReservationForCreation } from "../budget/reservation.ts";
import { type ChainPolicy, creatorVersion, wantedServerKeyVersion } from "../policy/chain.ts";
import { accountsAreFewAndDistinct, CREATION_RULES, readUserKeys } from "../policy/creation-rules.ts";
import { evaluate } from "../policy/rule.ts";
import { ownPublicKeys, type Vault } from "../vault/index.ts";
import type { Decide, SignedMessage } from "./decide.ts";
import type { BindingStore, SignedCreations } from "./ports.ts";

export interface SignCreationCommand {
  readonly chainName: string;
  readonly message: Uint8Array;
  /** Account i of the message's lists. */
  readonly accountIds: readonly string[];
  /** The name in the caller's certificate. */
  readonly caller: string;
}

export interface SignCreationPorts {
  readonly decide: Decide;
  readonly bindings: Pick<BindingStore, "bound">;
  readonly signedCreations: Pick<SignedCreations, "record">;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly reservationForCreation: ReservationForCreation;
  chain(name: string): ChainPolicy;
}

/**
 * Signs the creation of accounts with the creator's key, with server keys of the version that is wanted now.
 * Only a creation that was signed here can be bound later. Errors: see signer.v1.Creation/SignCreation.
 *
 * Writes: the accounts of the creation; later the record with the reservation, in one commit.
 * Crash: in between, no signature has left; the account service asks again.
 */
export const signCreation =
  ({ decide, bindings, signedCreations, vault, clock, reservationForCreation, chain: chainOf }: SignCreationPorts) =>
  ({ chainName, message: bytes, accountIds, caller }: SignCreationCommand): Promise<SignedMessage> => {
    const chain = chainOf(chainName);
    const requester = { caller, accountId: "", sessionId: "", limitId: "" };
    return decide("creation", bytes, requester, async (message, { policy }) => {
      evaluate([accountsAreFewAndDistinct], accountIds);
      const serverKeyVersion = wantedServerKeyVersion(chain);
      const keysOf = (version: number) =>
        Promise.all(accountIds.map((accountId) => vault.publicKey({ role: "server", chainName, accountId, version })));
      const otherVersions = vault.versions("server").filter((version) => version !== serverKeyVersion);
      const userKeys = readUserKeys(message);
      const facts = {
        message,
        chain,
        serverKeys: await keysOf(serverKeyVersion),
        otherServerKeys: (await Promise.all(otherVersions.map(keysOf))).flat(),
        serviceKeys: await ownPublicKeys(vault, chainName),
        userKeys,
        boundAccountIds: await bindings.bound(chainName, accountIds),
      };
      evaluate(CREATION_RULES, facts);

      const accounts = accountIds.map((accountId, i) => ({ accountId, userKey: userKeys![i]! }));
      await signedCreations.record({ chainName, serverKeyVersion, accounts }, clock.now());
      const { keyId } = message.proposalKey;
      return {
        key: { role: "creator", chainName, version: creatorVersion(chain, keyId) },
        address: chain.creator.address,
        keyId,
        reservation: reservationForCreation(message, { chainName, accounts: accountIds.length }, policy),
      };
    });
  };

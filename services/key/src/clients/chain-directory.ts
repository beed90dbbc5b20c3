import {
  type AccountKeysService,
  type ChainKeys as WireChainKeys,
  AccountKeyRole as WireRole,
} from "@countersign/proto/account/v1/account_keys.ts";
import { KeyAlgorithm } from "@countersign/proto/common/v1/types.ts";
import { type CallContext, publicKeyFromProto, publicKeyToProto, type RpcClient } from "@countersign/rpc";
import type { ChainDirectory, ChainKey, ChainKeys } from "../domain/ports.ts";

/** Short, so that a slow node does not hold up a list of keys. */
const LIST_TIMEOUT_MS = 1_500;
/** Of one chain, which is asked for again because a change there must be included. */
const LIST_ONE_TIMEOUT_MS = 3_500;
/** Of several reads of the chain, one after the other. */
const VERIFY_TIMEOUT_MS = 8_000;

const ROLES: Readonly<Partial<Record<WireRole, ChainKey["role"]>>> = {
  [WireRole.ACCOUNT_KEY_ROLE_SERVER]: "server",
  [WireRole.ACCOUNT_KEY_ROLE_USER]: "user",
  [WireRole.ACCOUNT_KEY_ROLE_RECOVERY]: "recovery",
};

const toChainKeys = ({ chainName, height, keys }: WireChainKeys): ChainKeys => ({
  chainName,
  height,
  keys: keys
    // A client cannot name a key of an unknown algorithm either.
    .filter(({ publicKey }) => publicKey?.algorithm !== KeyAlgorithm.KEY_ALGORITHM_UNSPECIFIED)
    .map(({ index, publicKey, weight, role, revoked }) => ({
      index,
      publicKey: publicKeyFromProto(publicKey),
      weight,
      role: ROLES[role] ?? "other",
      revoked,
    })),
});

/** Returns the methods of account.v1.AccountKeys that key calls. `listMs`: the longest read of all chains. */
export function chainDirectory(
  client: RpcClient<AccountKeysService>,
  listMs: number = LIST_TIMEOUT_MS,
): ChainDirectory<CallContext> {
  return {
    async list(accountId, chainName = "") {
      const { chains } = await client.listAccountKeys(
        { accountId, chainName },
        { deadlineMs: chainName === "" ? listMs : LIST_ONE_TIMEOUT_MS, idempotent: true },
      );
      return chains.map(toChainKeys);
    },
    async verifyRevocation({ publicKey, ...revocation }, call) {
      const request = { ...revocation, publicKey: publicKeyToProto(publicKey) };
      await client.verifyKeyRevocation(request, { onBehalfOf: call, deadlineMs: VERIFY_TIMEOUT_MS, idempotent: true });
    },
  };
}

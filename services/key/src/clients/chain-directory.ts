import {
  type AccountKeysService,
  type ChainKeys as WireChainKeys,
  AccountKeyRole as WireRole,
} from "@countersign/proto/account/v1/account_keys.ts";
import { KeyAlgorithm } from "@countersign/proto/common/v1/types.ts";
import { type CallContext, publicKeyFromProto, publicKeyToProto, type RpcClient } from "@countersign/rpc";
import type { ChainDirectory, ChainKey, ChainKeys } from "../domain/ports.ts";

/** A node that is slow must not hold a list of keys up for long. */
const LIST_MS = 1_500;

const ROLES: Readonly<Partial<Record<WireRole, ChainKey["role"]>>> = {
  [WireRole.ACCOUNT_KEY_ROLE_SERVER]: "server",
  [WireRole.ACCOUNT_KEY_ROLE_USER]: "user",
  [WireRole.ACCOUNT_KEY_ROLE_RECOVERY]: "recovery",
};

const toChainKeys = ({ chainName, height, keys }: WireChainKeys): ChainKeys => ({
  chainName,
  height,
  keys: keys
    // A kind of key that the service does not know cannot be named by a client either.
    .filter(({ publicKey }) => publicKey?.algorithm !== KeyAlgorithm.KEY_ALGORITHM_UNSPECIFIED)
    .map(({ index, publicKey, weight, role, revoked }) => ({
      index,
      publicKey: publicKeyFromProto(publicKey),
      weight,
      role: ROLES[role] ?? "other",
      revoked,
    })),
});

/** account.v1.AccountKeys, as far as it is key's to call. `listMs`: how long a look at the chain may take. */
export function chainDirectory(
  client: RpcClient<AccountKeysService>,
  listMs: number = LIST_MS,
): ChainDirectory<CallContext> {
  return {
    async list(accountId) {
      const { chains } = await client.listAccountKeys({ accountId }, { deadlineMs: listMs, idempotent: true });
      return chains.map(toChainKeys);
    },
    async verifyRevocation({ publicKey, ...revocation }, call) {
      const request = { ...revocation, publicKey: publicKeyToProto(publicKey) };
      await client.verifyKeyRevocation(request, { call, idempotent: true });
    },
  };
}

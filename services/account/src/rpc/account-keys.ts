import { AppError, isUuid } from "@countersign/core";
import { type KeyRole, keyRoleOf } from "@countersign/flow";
import { hexToBytes } from "@countersign/keys";
import { AccountKeyRole, type AccountKeysService } from "@countersign/proto/account/v1/account_keys.ts";
import { KeyAlgorithm } from "@countersign/proto/common/v1/types.ts";
import { type Handlers, requireToken, validPublicKeyFromProto } from "@countersign/rpc";
import { listAccountKeys } from "../domain/accounts/list-account-keys.ts";
import type { AccountKey } from "../domain/key-additions/key-addition.ts";
import type { NamedTransactionOptions } from "../domain/key-additions/named-transaction.ts";
import { verifyKeyRevocation } from "../domain/key-additions/verify-key-revocation.ts";
import { fromChain, transactionIdFrom } from "./conversions.ts";

const ROLES = {
  server: AccountKeyRole.ACCOUNT_KEY_ROLE_SERVER,
  user: AccountKeyRole.ACCOUNT_KEY_ROLE_USER,
  recovery: AccountKeyRole.ACCOUNT_KEY_ROLE_RECOVERY,
} as const satisfies Record<KeyRole, AccountKeyRole>;

const ALGORITHMS: Readonly<Record<string, KeyAlgorithm>> = {
  ECDSA_P256: KeyAlgorithm.KEY_ALGORITHM_ES256,
  ECDSA_secp256k1: KeyAlgorithm.KEY_ALGORITHM_ES256K,
};

const roleOf = (key: AccountKey): AccountKeyRole => {
  const role = keyRoleOf(key);
  return role ? ROLES[role] : AccountKeyRole.ACCOUNT_KEY_ROLE_OTHER;
};

const toWire = (key: AccountKey) => ({
  index: key.index,
  publicKey: {
    algorithm: ALGORITHMS[key.signatureAlgorithm] ?? KeyAlgorithm.KEY_ALGORITHM_UNSPECIFIED,
    bytes: Buffer.from(hexToBytes(key.publicKey)),
  },
  weight: key.weight,
  role: roleOf(key),
  revoked: key.revoked,
});

/** Handles account.v1.AccountKeys. */
export function accountKeysHandlers(options: NamedTransactionOptions): Handlers<AccountKeysService> {
  const list = listAccountKeys(options);
  const verify = verifyKeyRevocation(options);
  return {
    async listAccountKeys({ accountId, chainName }, call) {
      if (!isUuid(accountId)) throw new AppError("AccountNotFound");
      const chains = await fromChain(list(accountId, chainName, call.signal));
      return { chains: chains.map(({ keys, ...chain }) => ({ ...chain, keys: keys.map(toWire) })) };
    },

    /** Only for the token's own account. */
    async verifyKeyRevocation({ accountId, chainName, publicKey, transactionId }, call) {
      if (accountId !== requireToken(call).accountId) throw new AppError("AccountNotFound");
      const revoked = {
        publicKey: validPublicKeyFromProto(publicKey, "/publicKey"),
        transactionId: transactionIdFrom(transactionId),
      };
      await fromChain(verify({ accountId, chainName, ...revoked }, call.signal));
      return {};
    },
  };
}

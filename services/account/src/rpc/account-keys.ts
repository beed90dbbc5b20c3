import { AppError, isUuid } from "@countersign/core";
import { hexToBytes } from "@countersign/keys";
import { type AccountKeysService, AccountKeyRole as WireRole } from "@countersign/proto/account/v1/account_keys.ts";
import { KeyAlgorithm } from "@countersign/proto/common/v1/types.ts";
import { type Handlers, requireToken } from "@countersign/rpc";
import { type AccountKeyRole, listAccountKeys, roleOf } from "../domain/accounts/list-account-keys.ts";
import type { AccountKey } from "../domain/key-additions/key-addition.ts";
import { type VerifyKeyRevocationOptions, verifyKeyRevocation } from "../domain/key-additions/verify-key-revocation.ts";
import { fromChain, keyFrom } from "./conversions.ts";

const ROLES = {
  server: WireRole.ACCOUNT_KEY_ROLE_SERVER,
  user: WireRole.ACCOUNT_KEY_ROLE_USER,
  recovery: WireRole.ACCOUNT_KEY_ROLE_RECOVERY,
  other: WireRole.ACCOUNT_KEY_ROLE_OTHER,
} as const satisfies Record<AccountKeyRole, WireRole>;

const ALGORITHMS: Readonly<Record<string, KeyAlgorithm>> = {
  ECDSA_P256: KeyAlgorithm.KEY_ALGORITHM_ES256,
  ECDSA_secp256k1: KeyAlgorithm.KEY_ALGORITHM_ES256K,
};

const toWire = (key: AccountKey) => ({
  index: key.index,
  publicKey: {
    algorithm: ALGORITHMS[key.signatureAlgorithm] ?? KeyAlgorithm.KEY_ALGORITHM_UNSPECIFIED,
    bytes: Buffer.from(hexToBytes(key.publicKey)),
  },
  weight: key.weight,
  role: ROLES[roleOf(key)],
  revoked: key.revoked,
});

/** Handles account.v1.AccountKeys. */
export function accountKeysHandlers(options: VerifyKeyRevocationOptions): Handlers<AccountKeysService> {
  const list = listAccountKeys(options);
  const verify = verifyKeyRevocation(options);
  return {
    async listAccountKeys({ accountId }, call) {
      if (!isUuid(accountId)) throw new AppError("AccountNotFound");
      const chains = await fromChain(list(accountId, call.signal));
      return { chains: chains.map(({ keys, ...chain }) => ({ ...chain, keys: keys.map(toWire) })) };
    },

    /** Only for the token's own account. */
    async verifyKeyRevocation({ accountId, chainName, publicKey, transactionId }, call) {
      if (accountId !== requireToken(call).accountId) throw new AppError("AccountNotFound");
      if (!/^[0-9a-f]{64}$/.test(transactionId)) {
        throw new AppError("InvalidRequest", { fields: [{ pointer: "/txId", detail: "not a transaction id" }] });
      }
      const key = keyFrom(publicKey, "/publicKey");
      await fromChain(verify({ accountId, chainName, publicKey: key, transactionId }, call.signal));
      return {};
    },
  };
}

import { UserKeyType } from "@countersign/proto/common/v1/types.ts";
import { type FindSignInKeyResponse, KeyOrigin, type KeysService } from "@countersign/proto/key/v1/keys.ts";
import { publicKeyFromProto, publicKeyToProto, type RpcClient } from "@countersign/rpc";
import type { FindSignInKey, ListPasskeys, SignInKey } from "../domain/sign-in/ports.ts";

/** key.v1.Keys/FindSignInKey */
export const findSignInKey =
  (keys: RpcClient<KeysService>): FindSignInKey =>
  async (accountId, chainName, key) => {
    const request = { accountId, chainName, publicKey: publicKeyToProto(key) };
    return toSignInKey(await keys.findSignInKey(request, { idempotent: true }));
  };

/** key.v1.Keys/ListPasskeys */
export const listPasskeys =
  (keys: RpcClient<KeysService>): ListPasskeys =>
  async (accountId, chainName) =>
    (await keys.listPasskeys({ accountId, chainName }, { idempotent: true })).passkeys.map(toSignInKey);

const toSignInKey = ({ type, accountKey, deviceKey, origin }: FindSignInKeyResponse): SignInKey => ({
  type: type === UserKeyType.USER_KEY_TYPE_PASSKEY ? "passkey" : "device",
  accountKey: publicKeyFromProto(accountKey),
  deviceKey: publicKeyFromProto(deviceKey),
  isRecovery: origin === KeyOrigin.KEY_ORIGIN_RECOVERY,
});

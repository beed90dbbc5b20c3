import { AppError, createBatcher, type Logger } from "@countersign/core";
import {
  KeyOrigin,
  type KeysService,
  type SignInKey as ProtoSignInKey,
  type SignInKeyQuery,
} from "@countersign/proto/key/v1/keys.ts";
import { nameOf, publicKeyFromProto, publicKeyToProto, type RpcClient, USER_KEY_TYPES } from "@countersign/rpc";
import type { FindSignInKey, ListPasskeys, RecordKeyUse, SignInKey } from "../domain/sign-in/ports.ts";

/** The most queries of one call. */
const MAX_QUERIES = 100;
/** Uses of this time are reported by one call. */
const USES_MS = 500;

/** key.v1.Keys/FindSignInKeys: sign-ins that wait share a call. */
export function findSignInKey(keys: RpcClient<KeysService>): FindSignInKey {
  const find = createBatcher<SignInKeyQuery, ProtoSignInKey | undefined>(async (queries) => {
    const { answers } = await keys.findSignInKeys({ queries: [...queries] }, { idempotent: true });
    return answers.map(({ key }) => key);
  }, MAX_QUERIES);
  return async (accountId, chainName, key, usedAt) => {
    const found = await find({ accountId, chainName, publicKey: publicKeyToProto(key), usedAt });
    if (!found) throw new AppError("PleaseRegisterKey");
    return toSignInKey(found);
  };
}

/** Reports uses by key.v1.Keys/FindSignInKeys, which records `usedAt`. Those it does not get are lost. */
export function recordKeyUse(keys: RpcClient<KeysService>, logger: Logger): RecordKeyUse {
  const call = async (queries: readonly SignInKeyQuery[]): Promise<undefined[]> => {
    try {
      await keys.findSignInKeys({ queries: [...queries] }, { idempotent: true });
    } catch (err) {
      logger.warn({ err }, "uses of keys not recorded");
    }
    return [];
  };
  const report = createBatcher(call, MAX_QUERIES, USES_MS);
  return (accountId, chainName, key, usedAt) =>
    void report({ accountId, chainName, publicKey: publicKeyToProto(key), usedAt });
}

/** key.v1.Keys/ListPasskeys */
export const listPasskeys =
  (keys: RpcClient<KeysService>): ListPasskeys =>
  async (accountId, chainName) =>
    (await keys.listPasskeys({ accountId, chainName }, { idempotent: true })).passkeys.map(toSignInKey);

const ORIGINS = new Map<KeyOrigin, SignInKey["origin"]>([
  [KeyOrigin.KEY_ORIGIN_TWO_FACTOR, "two-factor"],
  [KeyOrigin.KEY_ORIGIN_RECOVERY, "recovery"],
]);

const toSignInKey = ({ type, accountKey, deviceKey, origin }: ProtoSignInKey): SignInKey => ({
  type: nameOf(USER_KEY_TYPES, type) ?? "device",
  accountKey: publicKeyFromProto(accountKey),
  deviceKey: publicKeyFromProto(deviceKey),
  origin: ORIGINS.get(origin) ?? "sign-up",
});

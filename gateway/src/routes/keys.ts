import { Algorithm, resource } from "@countersign/http-api/formats.ts";
import { optionalText, PublicKeyInput } from "@countersign/http-api/requests.ts";
import { CloudKey, Key } from "@countersign/http-api/resources.ts";
import type { Key as WireKey } from "@countersign/proto/key/v1/keys.ts";
import { nameOf, USER_KEY_TYPES } from "@countersign/rpc";
import { z } from "zod";
import type { Services } from "../clients.ts";
import { queryFlag, toTimestamp, transactionId } from "../http/fields.ts";
import { route, type UntaggedRoute } from "../http/route.ts";
import { keyAlgorithm } from "./devices.ts";
import { toApp, toDevice } from "./mapping/device.ts";
import { fromPublicKey, fromRegisteredKey, toPublicKey } from "./mapping/public-key.ts";
import { DEADLINES, repeatable } from "./rpc.ts";

const recoveryBody = resource("RecoveryKeyRequest", "The recovery key to register.", {
  recoveryKey: resource("NewRecoveryKey", "A recovery key.", {
    publicKey: PublicKeyInput,
    algorithm: Algorithm.optional(),
    cloudKey: CloudKey,
  }),
  chainName: optionalText(64).meta({
    description: "Needed only where the account is on several chains.",
    examples: ["flow-emulator"],
  }),
});

const keysResponse = resource("KeysResponse", "Keys of the account.", {
  keys: z.array(Key).meta({ description: "Oldest first." }),
});

export const keyRoutes = ({ keys }: Services): UntaggedRoute[] => [
  route({
    method: "get",
    path: "/key/v1/keys",
    operationId: "listKeys",
    summary: "The account's keys, oldest first, each with its device",
    description: "The chain decides about index, weight and revocation.",
    token: "user",
    recover: true,
    request: { query: z.object({ include_revoked: queryFlag("Whether revoked keys are listed too.") }) },
    response: keysResponse,
    handler: async ({ query }, call) => {
      const answer = await keys.listKeys({ includeRevoked: query.include_revoked }, repeatable(call));
      return { keys: answer.keys.map(toKey) };
    },
  }),
  route({
    method: "post",
    path: "/key/v1/recovery",
    operationId: "registerRecoveryKey",
    summary: "Reports the account's recovery key, before or after it is on chain",
    description:
      "The client puts the key on chain itself, by a co-signed transaction. Until the chain shows it, " +
      "the key is listed as pending, for an hour at most.",
    token: "user",
    request: { body: recoveryBody },
    response: keysResponse,
    errors: [
      "InvalidPublicKey",
      "UnsupportedKey",
      "UnknownChain",
      "AccountNotReady",
      "KeyAlreadyRegistered",
      "ChainUnavailable",
      "RateLimited",
    ],
    handler: async ({ body: { recoveryKey, chainName } }, call) => {
      const publicKey = fromPublicKey(recoveryKey.publicKey, recoveryKey.algorithm, "/recoveryKey/publicKey");
      const request = { publicKey, cloudAccountName: recoveryKey.cloudKey.accountName, chainName };
      const answer = await keys.registerRecoveryKey(request, repeatable(call, DEADLINES.chain));
      return { keys: answer.keys.map(toKey) };
    },
  }),
  route({
    method: "delete",
    path: "/key/v1/keys/{publicKey}",
    operationId: "reportRevocation",
    summary: "Reports that a transaction has revoked the key on chain",
    description: "The service finds revocations by itself as well; this only makes it faster.",
    token: "user",
    request: {
      params: z.object({ publicKey: PublicKeyInput }),
      query: z.object({
        txId: transactionId(),
        algorithm: keyAlgorithm,
      }),
    },
    errors: [
      "InvalidPublicKey",
      "KeyNotFound",
      "TransactionPending",
      "TransactionMismatch",
      "ChainUnavailable",
      "RateLimited",
    ],
    handler: async ({ params, query }, call) => {
      const publicKey = fromRegisteredKey(params.publicKey, query.algorithm);
      await keys.reportRevocation({ publicKey, txId: query.txId }, repeatable(call, DEADLINES.chain));
    },
  }),
];

/** Returns a key as clients see it: `userKey` or `recoverKey` is null, according to its type. */
function toKey(key: WireKey): Key {
  const { userKey, recoverKey } = key;
  return {
    ...toPublicKey(key.accountKey),
    accountId: key.accountId,
    appId: key.app?.appId ?? "",
    chainName: key.chainName,
    type: recoverKey === undefined ? "user-key" : "recover-key",
    name: key.name,
    keyIndex: key.keyIndex,
    weight: key.weight,
    userKey: userKey
      ? {
          type: nameOf(USER_KEY_TYPES, userKey.type) ?? "device",
          device: userKey.device ? toDevice(userKey.device) : null,
          devicePublicKey: toPublicKey(userKey.deviceKey).publicKey,
          app: toApp(key.app),
        }
      : null,
    recoverKey: recoverKey
      ? { type: recoverKey.type || "cloud", cloudKey: { accountName: recoverKey.cloudAccountName } }
      : null,
    pending: recoverKey?.pending ?? false,
    createdAt: toTimestamp(key.createdAt),
    lastUsedAt: toTimestamp(key.lastUsedAt),
    revokedAt: toTimestamp(key.revokedAt),
  };
}

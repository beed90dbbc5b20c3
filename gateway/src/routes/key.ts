import type {
  ListKeysRequest,
  ListKeysResponse,
  RegisterRecoveryKeyRequest,
  RegisterRecoveryKeyResponse,
  ReportRevocationRequest,
  ReportRevocationResponse,
} from "@countersign/proto/key/v1/keys.ts";
import { z } from "zod";
import { type Route, route } from "../http/route.ts";
import { optionalText, queryFlag, text, transactionId } from "../http/validation.ts";
import { keySchema, toKey } from "./resources/key.ts";
import { algorithmSchema, fromPublicKey, guessPublicKey, publicKeySchema } from "./resources/public-key.ts";
import { DEADLINES, type Rpc } from "./rpc.ts";

/** What of key these routes call. */
export interface KeyClients {
  keys: {
    listKeys: Rpc<ListKeysRequest, ListKeysResponse>;
    registerRecoveryKey: Rpc<RegisterRecoveryKeyRequest, RegisterRecoveryKeyResponse>;
    reportRevocation: Rpc<ReportRevocationRequest, ReportRevocationResponse>;
  };
}

/** `chainName` is needed only where the account is on several chains. */
const recoveryBody = z.object({
  recoveryKey: z.object({
    publicKey: publicKeySchema,
    algorithm: algorithmSchema.optional(),
    cloudKey: z.object({ accountName: text() }),
  }),
  chainName: optionalText(64),
});

/** The keys of an account. */
export function keyRoutes({ keys }: KeyClients): Route[] {
  return [
    route({
      method: "get",
      path: "/key/v1/keys",
      operationId: "listKeys",
      summary: "The account's keys, oldest first, each with its device",
      token: "user",
      recover: true,
      request: { query: z.object({ include_revoked: queryFlag() }) },
      response: z.object({ keys: z.array(keySchema) }),
      handler: async ({ query }, call) => {
        const request = { includeRevoked: query.include_revoked };
        const answer = await keys.listKeys(request, { call, deadlineMs: DEADLINES.unary });
        return { keys: answer.keys.map(toKey) };
      },
    }),
    route({
      method: "post",
      path: "/key/v1/recovery",
      operationId: "registerRecoveryKey",
      summary: "Reports the account's recovery key, before or after it is on chain",
      token: "user",
      request: { body: recoveryBody },
      response: z.object({ keys: z.array(keySchema) }),
      errors: [
        "InvalidPublicKey",
        "UnsupportedKey",
        "UnknownChain",
        "AccountNotReady",
        "KeyAlreadyRegistered",
        "ChainUnavailable",
      ],
      handler: async ({ body: { recoveryKey, chainName } }, call) => {
        const { publicKey: hex, algorithm, cloudKey } = recoveryKey;
        const publicKey = fromPublicKey(hex, algorithm, "/recoveryKey/publicKey");
        const request = { publicKey, cloudAccountName: cloudKey.accountName, chainName };
        const answer = await keys.registerRecoveryKey(request, { call, deadlineMs: DEADLINES.chain });
        return { keys: answer.keys.map(toKey) };
      },
    }),
    route({
      method: "delete",
      path: "/key/v1/keys/{publicKey}",
      operationId: "reportRevocation",
      summary: "Reports that a transaction has revoked the key on chain",
      token: "user",
      request: {
        params: z.object({ publicKey: publicKeySchema }),
        query: z.object({ txId: transactionId(), algorithm: algorithmSchema.optional() }),
      },
      errors: ["InvalidPublicKey", "KeyNotFound", "TransactionPending", "TransactionMismatch", "ChainUnavailable"],
      handler: async ({ params, query }, call) => {
        const { bytes } = guessPublicKey(params.publicKey, query.algorithm, ["ES256", "ES256K"], "/publicKey");
        const request = { publicKey: bytes, txId: query.txId };
        await keys.reportRevocation(request, { call, deadlineMs: DEADLINES.unary });
        return undefined;
      },
    }),
  ];
}

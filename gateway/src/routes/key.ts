import type {
  ListKeysRequest,
  ListKeysResponse,
  ReportRevocationRequest,
  ReportRevocationResponse,
} from "@countersign/proto/key/v1/keys.ts";
import { z } from "zod";
import { type Route, route } from "../http/route.ts";
import { queryFlag, transactionId } from "../http/validation.ts";
import { keySchema, toKey } from "./resources/key.ts";
import { algorithmSchema, guessPublicKey, publicKeySchema } from "./resources/public-key.ts";
import { DEADLINES, type Rpc } from "./rpc.ts";

/** What of key these routes call. */
export interface KeyClients {
  keys: {
    listKeys: Rpc<ListKeysRequest, ListKeysResponse>;
    reportRevocation: Rpc<ReportRevocationRequest, ReportRevocationResponse>;
  };
}

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

import type { ListKeysRequest, ListKeysResponse } from "@countersign/proto/key/v1/keys.ts";
import { z } from "zod";
import { type Route, route } from "../http/route.ts";
import { queryFlag } from "../http/validation.ts";
import { keySchema, toKey } from "./resources/key.ts";
import { DEADLINES, type Rpc } from "./rpc.ts";

/** What of key these routes call. */
export interface KeyClients {
  keys: { listKeys: Rpc<ListKeysRequest, ListKeysResponse> };
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
  ];
}

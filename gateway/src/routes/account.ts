import type { GetMeRequest, GetMeResponse } from "@countersign/proto/account/v1/accounts.ts";
import { z } from "zod";
import { type Route, route } from "../http/route.ts";
import { accountSchema, toAccount } from "./resources/account.ts";
import { DEADLINES, type Rpc } from "./rpc.ts";

/** What of account these routes call. */
export interface AccountClients {
  accounts: { getMe: Rpc<GetMeRequest, GetMeResponse> };
}

/** The account itself. */
export function accountRoutes({ accounts }: AccountClients): Route[] {
  return [
    route({
      method: "get",
      path: "/account/v1/me",
      operationId: "getMe",
      summary: "The token's account with its addresses",
      token: "user",
      recover: true,
      response: z.object({ account: accountSchema }),
      handler: async (_input, call) => {
        const answer = await accounts.getMe({}, { call, deadlineMs: DEADLINES.unary });
        return { account: toAccount(answer.account) };
      },
    }),
  ];
}

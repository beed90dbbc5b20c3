import type {
  GetMeRequest,
  GetMeResponse,
  LinkParentRequest,
  LinkParentResponse,
} from "@countersign/proto/account/v1/accounts.ts";
import type {
  FreezeAccountRequest,
  FreezeAccountResponse,
  UnfreezeAccountRequest,
  UnfreezeAccountResponse,
} from "@countersign/proto/auth/v1/access.ts";
import { z } from "zod";
import { type Route, route } from "../http/route.ts";
import { accountSchema, toAccount } from "./resources/account.ts";
import { DEADLINES, type Rpc } from "./rpc.ts";

/** What of account and auth these routes call. */
export interface AccountClients {
  accounts: {
    getMe: Rpc<GetMeRequest, GetMeResponse>;
    linkParent: Rpc<LinkParentRequest, LinkParentResponse>;
  };
  freezing: {
    freezeAccount: Rpc<FreezeAccountRequest, FreezeAccountResponse>;
    unfreezeAccount: Rpc<UnfreezeAccountRequest, UnfreezeAccountResponse>;
  };
}

/** The account itself, and stopping all signing for it. */
export function accountRoutes({ accounts, freezing }: AccountClients): Route[] {
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
    route({
      method: "post",
      path: "/account/v1/parent",
      operationId: "linkParent",
      summary: "Reads the account's parents from the chain",
      token: "user",
      response: z.object({ account: accountSchema.omit({ updatedAt: true }) }),
      errors: ["ParentNotLinked", "AccountNotReady", "ChainUnavailable"],
      handler: async (_input, call) => {
        const answer = await accounts.linkParent({}, { call, deadlineMs: DEADLINES.chain });
        const { updatedAt: _, ...account } = toAccount(answer.account);
        return { account };
      },
    }),
    route({
      method: "post",
      path: "/account/v1/freeze",
      operationId: "freezeAccount",
      summary: "Stops all signing for the account; again: joins the freeze and cancels requests to lift it",
      token: "user",
      recover: true,
      errors: ["TimeLockContested"],
      handler: async (_input, call) => {
        await freezing.freezeAccount({}, { call, deadlineMs: DEADLINES.unary });
        return undefined;
      },
    }),
    route({
      method: "post",
      path: "/account/v1/unfreeze",
      operationId: "unfreezeAccount",
      summary: "Lets the account sign again: at once where two parties agree, otherwise after a time lock",
      token: "user",
      recover: true,
      errors: ["UnfreezeNotAllowed", "AccountUnderReview", "TimeLockRequired"],
      handler: async (_input, call) => {
        await freezing.unfreezeAccount({}, { call, deadlineMs: DEADLINES.unary });
        return undefined;
      },
    }),
  ];
}

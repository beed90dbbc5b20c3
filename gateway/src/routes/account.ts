import { Account } from "@countersign/http-api/resources.ts";
import { z } from "zod";
import type { Services } from "../clients.ts";
import { type Route, route } from "../http/route.ts";
import { toAccount } from "./mapping/account.ts";
import { DEADLINES, once, repeatable } from "./rpc.ts";

export const accountRoutes = ({ accounts, access }: Services): Route[] => [
  route({
    method: "get",
    path: "/account/v1/me",
    operationId: "getMe",
    summary: "The token's account with its addresses",
    token: "user",
    recover: true,
    response: z.object({ account: Account }),
    handler: async (_input, call) => {
      const { account } = await accounts.getMe({}, repeatable(call));
      return { account: toAccount(account) };
    },
  }),
  route({
    method: "post",
    path: "/account/v1/parent",
    operationId: "linkParent",
    summary: "Reads the account's parents from the chain",
    token: "user",
    response: z.object({ account: Account.omit({ updatedAt: true }) }),
    errors: ["ParentNotLinked", "AccountNotReady", "ChainUnavailable"],
    handler: async (_input, call) => {
      const answer = await accounts.linkParent({}, repeatable(call, DEADLINES.chain));
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
    handler: (_input, call) => access.freezeAccount({}, repeatable(call)),
  }),
  route({
    method: "post",
    path: "/account/v1/unfreeze",
    operationId: "unfreezeAccount",
    summary: "Lets the account sign again: at once where two parties agree, otherwise after a time lock",
    token: "user",
    recover: true,
    errors: ["UnfreezeNotAllowed", "AccountUnderReview", "TimeLockRequired"],
    handler: (_input, call) => access.unfreezeAccount({}, once(call)),
  }),
];

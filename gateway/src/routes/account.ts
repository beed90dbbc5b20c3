import { resource } from "@countersign/http-api/formats.ts";
import { Account } from "@countersign/http-api/resources.ts";
import { z } from "zod";
import type { Services } from "../clients.ts";
import { route, type UntaggedRoute } from "../http/route.ts";
import { toAccount } from "./mapping/account.ts";
import { DEADLINES, once, repeatable } from "./rpc.ts";

const accountResponse = resource("AccountResponse", "The account.", { account: Account });

export const accountRoutes = ({ accounts, access }: Services): UntaggedRoute[] => [
  route({
    method: "get",
    path: "/account/v1/me",
    operationId: "getMe",
    summary: "The token's account with its addresses",
    description: "Addresses are there once the chain has executed the deployment. Parents may be half a second old.",
    token: "user",
    recover: true,
    response: accountResponse,
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
    description:
      "The service reads the account's list of parents from the chain (HybridCustody), and believes no " +
      "one else. Call it after the transaction that links or removes a parent is sealed.",
    token: "user",
    response: z.object({ account: Account.omit({ updatedAt: true }) }),
    documentedResponse: accountResponse,
    errors: ["ParentNotLinked", "AccountNotReady", "ChainUnavailable", "RateLimited"],
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
    description: "Any session may do this. Until the account is unfrozen, the signer refuses everything.",
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
    description: "`TimeLockRequired` names the time from which on the same request lifts the freeze.",
    token: "user",
    recover: true,
    errors: ["UnfreezeNotAllowed", "AccountUnderReview", "TimeLockRequired", "RateLimited"],
    handler: (_input, call) => access.unfreezeAccount({}, once(call)),
  }),
];

import type { Reason } from "@countersign/core";
import type {
  ApproveTwoFactorRequest,
  ApproveTwoFactorResponse,
  GetTwoFactorRequest,
  GetTwoFactorResponse,
  ListTwoFactorRequest,
  ListTwoFactorResponse,
  RedirectTwoFactorRequest,
  RedirectTwoFactorResponse,
  RejectTwoFactorRequest,
  RejectTwoFactorResponse,
  ReopenTwoFactorRequest,
  ReopenTwoFactorResponse,
} from "@countersign/proto/device/v1/two_factor.ts";
import { z } from "zod";
import { faultPoint } from "../fault-points.ts";
import { type Route, route } from "../http/route.ts";
import { uuid } from "../http/validation.ts";
import { approvalBody, fromApproval } from "./resources/approval.ts";
import { fromStatus, toTwoFactorAuth, twoFactorAuthSchema, twoFactorStatusSchema } from "./resources/two-factor.ts";
import { DEADLINES, type Rpc } from "./rpc.ts";

/** What of device these routes call. */
export interface TwoFactorClients {
  twoFactor: {
    getTwoFactor: Rpc<GetTwoFactorRequest, GetTwoFactorResponse>;
    listTwoFactor: Rpc<ListTwoFactorRequest, ListTwoFactorResponse>;
    redirectTwoFactor: Rpc<RedirectTwoFactorRequest, RedirectTwoFactorResponse>;
    rejectTwoFactor: Rpc<RejectTwoFactorRequest, RejectTwoFactorResponse>;
    approveTwoFactor: Rpc<ApproveTwoFactorRequest, ApproveTwoFactorResponse>;
    reopenTwoFactor: Rpc<ReopenTwoFactorRequest, ReopenTwoFactorResponse>;
  };
}

/**
 * A request in a path: by its id, or by any id that it had with a message. Any other text names none: the
 * service says so.
 */
const oneRequest = { params: z.object({ id: z.string().toLowerCase() }) };
const answer = z.object({ twoFactorAuth: twoFactorAuthSchema });
const notOpen: Reason[] = ["TwoFactorAuthNotFound", "TwoFactorAuthNotPending"];

/** An old device's side of letting a new one in; the new one's is in new-device.ts. */
export function twoFactorRoutes({ twoFactor }: TwoFactorClients): Route[] {
  return [
    route({
      method: "get",
      path: "/device/v1/2fa",
      operationId: "listTwoFactor",
      summary: "The account's requests for approval, newest first",
      token: "user",
      recover: true,
      request: { query: z.object({ status: twoFactorStatusSchema.optional() }) },
      response: z.object({ twoFactorAuths: z.array(twoFactorAuthSchema) }),
      handler: async ({ query }, call) => {
        const request = { status: fromStatus(query.status) };
        const { twoFactorAuths } = await twoFactor.listTwoFactor(request, { call, deadlineMs: DEADLINES.unary });
        return { twoFactorAuths: twoFactorAuths.map(toTwoFactorAuth) };
      },
    }),
    // Before {id}, which it would otherwise be taken for.
    route({
      method: "post",
      path: "/device/v1/2fa/reopen",
      operationId: "reopenTwoFactor",
      summary: "Lets new requests in again after several rejections",
      token: "user",
      handler: async (_input, call) => {
        await twoFactor.reopenTwoFactor({}, { call, deadlineMs: DEADLINES.unary });
        return undefined;
      },
    }),
    route({
      method: "get",
      path: "/device/v1/2fa/{id}",
      operationId: "getTwoFactor",
      summary: "One request for approval",
      token: "user",
      recover: true,
      request: oneRequest,
      response: answer,
      errors: ["TwoFactorAuthNotFound"],
      handler: async ({ params }, call) => {
        const { twoFactorAuth } = await twoFactor.getTwoFactor(params, { call, deadlineMs: DEADLINES.unary });
        return { twoFactorAuth: toTwoFactorAuth(twoFactorAuth) };
      },
    }),
    route({
      method: "put",
      path: "/device/v1/2fa/{id}",
      operationId: "redirectTwoFactor",
      summary: "Asks another device instead, under a new request id",
      token: "user",
      recover: true,
      request: { ...oneRequest, body: z.object({ destDeviceId: uuid() }) },
      response: answer,
      errors: [...notOpen, "DeviceNotFound"],
      handler: async ({ params, body }, call) => {
        const request = { ...params, destDeviceId: body.destDeviceId };
        const { twoFactorAuth } = await twoFactor.redirectTwoFactor(request, { call, deadlineMs: DEADLINES.unary });
        return { twoFactorAuth: toTwoFactorAuth(twoFactorAuth) };
      },
    }),
    route({
      method: "delete",
      path: "/device/v1/2fa/{id}",
      operationId: "rejectTwoFactor",
      summary: "Rejects a request",
      token: "user",
      recover: true,
      request: oneRequest,
      errors: notOpen,
      handler: async ({ params }, call) => {
        await twoFactor.rejectTwoFactor(params, { call, deadlineMs: DEADLINES.unary });
        return undefined;
      },
    }),
    route({
      method: "post",
      path: "/device/v1/2fa/{id}/approve",
      operationId: "approveTwoFactor",
      summary: "Lets the asking device in, by a transaction that ran or by a signature over the request's message",
      token: "user",
      recover: true,
      request: { ...oneRequest, body: approvalBody },
      errors: [
        ...notOpen,
        "MessageRenewed",
        "InvalidSignature",
        "TransactionMismatch",
        "TransactionPending",
        "RateLimited",
        "UnsupportedKey",
        "TooManyDevices",
        "TooManyKeys",
        "SigningRefused",
        "SignerNotCurrent",
        "AccountFrozen",
        "AccountNotReady",
        "TimeLockRequired",
        "TimeLockCancelled",
        "ChainUnavailable",
      ],
      handler: async ({ params, body }, call) => {
        const request = fromApproval(params.id, body);
        await faultPoint("approval accepted");
        await twoFactor.approveTwoFactor(request, { call, deadlineMs: DEADLINES.approval });
        await faultPoint("approval before answer");
        return undefined;
      },
    }),
  ];
}

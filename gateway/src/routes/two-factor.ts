import type { Reason } from "@countersign/core";
import { asText, resource } from "@countersign/http-api/formats.ts";
import * as http from "@countersign/http-api/resources.ts";
import {
  type ApproveTwoFactorRequest,
  type TwoFactorAuth,
  TwoFactorStatus,
} from "@countersign/proto/device/v1/two_factor.ts";
import { nameOf, TWO_FACTOR_STATUSES } from "@countersign/rpc";
import { z } from "zod";
import type { Services } from "../clients.ts";
import { hexBytes, keySignature, toHex, toTimestamp, uuid } from "../http/fields.ts";
import { route, type UntaggedRoute } from "../http/route.ts";
import { toApp, toDevice } from "./mapping/device.ts";
import { DEADLINES, once, repeatable } from "./rpc.ts";

/**
 * A request in a path, by its id or by any id that it had with a message. The service rejects every other
 * text.
 */
const oneRequest = {
  params: z.object({
    id: z
      .string()
      .meta({
        description: "The request's id, or any that its message had.",
        examples: ["019a0000-0000-7000-8000-000000000001"],
      })
      .toLowerCase(),
  }),
};
const answer = resource("TwoFactorAuthResponse", "The request for approval.", { twoFactorAuth: http.TwoFactorAuth });
const notOpen: Reason[] = ["TwoFactorAuthNotFound", "TwoFactorAuthNotPending"];

const byTransaction = resource("TransactionApproval", "An approval by a transaction that ran.", {
  txId: hexBytes(
    32,
    "The transaction that has added the key.",
    "21c86909067d90562602828986c922f0320d5db9e6b091879be09d2de609658a",
    32,
  ),
});

const statusFilter = asText(
  z.enum(http.TwoFactorStatus.options).meta({ description: "Only requests in this state.", examples: ["pending"] }),
);

const redirection = resource("RedirectTwoFactorRequest", "The device to ask instead.", {
  destDeviceId: uuid("The id of the device to ask."),
});

/** An approval: `txId` or `signature`, never both. One object, so that each refusal names its member. */
const approvalBody = z
  .object({ ...byTransaction.partial().shape, ...keySignature.partial().shape })
  .superRefine((body, context) => {
    const reject = (field: keyof typeof body, message: string) =>
      context.addIssue({ code: "custom", path: [field], message });
    const passkey = (["clientDataJSON", "authenticatorData"] as const).filter((name) => body[name] !== undefined);
    if (body.txId === undefined && body.signature === undefined) {
      reject("txId", "One of txId and signature is required");
    }
    if (body.txId !== undefined && body.signature !== undefined) reject("signature", "Not together with txId");
    for (const name of passkey) if (body.signature === undefined) reject(name, "Only with signature");
    if (passkey.length === 1) {
      reject(passkey[0] === "clientDataJSON" ? "authenticatorData" : "clientDataJSON", "Required for a passkey");
    }
  });

/** Returns the routes of a registered device in an enrollment; the new device's side is in new-device.ts. */
export const twoFactorRoutes = ({ twoFactor }: Services): UntaggedRoute[] => [
  route({
    method: "get",
    path: "/device/v1/2fa",
    operationId: "listTwoFactor",
    summary: "The account's requests for approval, newest first",
    description: "A push is a hint and may be lost: read this list when the app opens.",
    token: "user",
    recover: true,
    request: {
      query: z.object({
        status: statusFilter.optional(),
      }),
    },
    response: resource("TwoFactorAuthsResponse", "Requests for approval.", {
      twoFactorAuths: z.array(http.TwoFactorAuth).meta({ description: "Newest first." }),
    }),
    handler: async ({ query }, call) => {
      const { twoFactorAuths } = await twoFactor.listTwoFactor({ status: fromStatus(query.status) }, repeatable(call));
      return { twoFactorAuths: twoFactorAuths.map(toTwoFactorAuth) };
    },
  }),
  // Before {id}, which would match it too.
  route({
    method: "post",
    path: "/device/v1/2fa/reopen",
    operationId: "reopenTwoFactor",
    summary: "Allows new requests again after several rejections",
    description: "After three rejections within 24 hours new requests are refused until this, or for a day.",
    token: "user",
    handler: (_input, call) => twoFactor.reopenTwoFactor({}, repeatable(call)),
  }),
  route({
    method: "get",
    path: "/device/v1/2fa/{id}",
    operationId: "getTwoFactor",
    summary: "One request for approval",
    description: "The id is the request's own, or any that `request.id` has had.",
    token: "user",
    recover: true,
    request: oneRequest,
    response: answer,
    errors: ["TwoFactorAuthNotFound"],
    handler: async ({ params }, call) => {
      const { twoFactorAuth } = await twoFactor.getTwoFactor(params, repeatable(call));
      return { twoFactorAuth: toTwoFactorAuth(twoFactorAuth) };
    },
  }),
  route({
    method: "put",
    path: "/device/v1/2fa/{id}",
    operationId: "redirectTwoFactor",
    summary: "Asks another device instead, under a new request id",
    description: "`message` and `request.id` are new. The time of expiry stays.",
    token: "user",
    recover: true,
    request: { ...oneRequest, body: redirection },
    response: answer,
    errors: [...notOpen, "DeviceNotFound", "RateLimited"],
    handler: async ({ params, body }, call) => {
      const { twoFactorAuth } = await twoFactor.redirectTwoFactor({ ...params, ...body }, once(call));
      return { twoFactorAuth: toTwoFactorAuth(twoFactorAuth) };
    },
  }),
  route({
    method: "delete",
    path: "/device/v1/2fa/{id}",
    operationId: "rejectTwoFactor",
    summary: "Rejects a request",
    description:
      "The same device may repeat it. While the account's recovery key has a session, devices reject three " +
      "requests in a day, and cancel the time lock instead.",
    token: "user",
    recover: true,
    request: oneRequest,
    errors: [...notOpen, "TimeLockContested"],
    handler: ({ params }, call) => twoFactor.rejectTwoFactor(params, once(call)),
  }),
  route({
    method: "post",
    path: "/device/v1/2fa/{id}/approve",
    operationId: "approveTwoFactor",
    summary: "Enrolls the new device, by a transaction that ran or by a signature over the request's message",
    description:
      "The body names a transaction that has added the key, or carries a signature over `message`. The " +
      "same device may repeat it.",
    token: "user",
    recover: true,
    request: {
      ...oneRequest,
      body: approvalBody,
      documentedBody: z
        .xor([byTransaction, keySignature])
        .meta({ id: "TwoFactorApproval", description: "A transaction or a signature, never both." }),
    },
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
      await twoFactor.approveTwoFactor(fromApproval(params.id, body), once(call, DEADLINES.approval));
    },
  }),
];

/** Returns an approval of the request `id` as device.v1.ApproveTwoFactorRequest. */
function fromApproval(id: string, body: z.output<typeof approvalBody>): ApproveTwoFactorRequest {
  if (body.signature === undefined) return { id, txId: toHex(body.txId) };
  return {
    id,
    signature: {
      signature: body.signature,
      clientDataJson: body.clientDataJSON ?? Buffer.alloc(0),
      authenticatorData: body.authenticatorData ?? Buffer.alloc(0),
    },
  };
}

/** Returns the status to filter by; absent is every one. */
const fromStatus = (name: http.TwoFactorStatus | undefined): TwoFactorStatus =>
  name === undefined ? TwoFactorStatus.TWO_FACTOR_STATUS_UNSPECIFIED : TWO_FACTOR_STATUSES[name];

/** Throws where the service named no status: a default could approve a device or keep one waiting. */
function toStatus(status: TwoFactorStatus | undefined): http.TwoFactorStatus {
  const name = nameOf(TWO_FACTOR_STATUSES, status);
  if (name === undefined) throw new Error(`the device service sent the status ${status}`);
  return name;
}

/** Returns a request for approval as clients see it. Throws where the service named no status. */
export function toTwoFactorAuth(auth: TwoFactorAuth | undefined): http.TwoFactorAuth {
  const request = auth?.request;
  const { email = "", ip = "", location = "" } = request?.signIn ?? {};
  return {
    id: auth?.id ?? "",
    accountId: auth?.accountId ?? "",
    request: {
      id: request?.id ?? "",
      app: toApp(request?.app),
      userOpInfo: { type: "sign-in", signIn: { email, ip, location } },
      srcDevice: toDevice(request?.srcDevice),
      destDevice: request?.destDevice ? toDevice(request.destDevice) : null,
      message: toHex(request?.message),
      requestedAt: toTimestamp(request?.requestedAt),
    },
    status: toStatus(auth?.status),
    extra: null,
    result: { txId: auth?.resultTxId ?? "" },
    expiresAt: toTimestamp(auth?.expiresAt),
  };
}

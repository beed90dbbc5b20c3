import type {
  ListServerKeyRotationsRequest,
  ListServerKeyRotationsResponse,
  RotateServerKeyRequest,
  RotateServerKeyResponse,
} from "@countersign/proto/account/v1/server_keys.ts";
import { z } from "zod";
import { type Route, route } from "../http/route.ts";
import { hexBytes, requiredText, toHex } from "../http/validation.ts";
import { transactionReferenceSchema } from "./resources/account.ts";
import { DEADLINES, type Rpc } from "./rpc.ts";

/** What of account these routes call. */
export interface ServerKeyClients {
  serverKeys: {
    listServerKeyRotations: Rpc<ListServerKeyRotationsRequest, ListServerKeyRotationsResponse>;
    rotateServerKey: Rpc<RotateServerKeyRequest, RotateServerKeyResponse>;
  };
}

const rotationBody = z.object({
  chainName: requiredText(64),
  message: hexBytes(32 * 1024),
  /** Raw r||s of the session's account key, also a passkey's. */
  signature: hexBytes(64),
  /** What a passkey's signature comes with, as it stands on chain (FLIP 264). */
  extensionData: hexBytes(4_096).optional(),
});

/** The account's server key, where the operator wants another one: the chain asks for a device's signature too. */
export function serverKeyRoutes({ serverKeys }: ServerKeyClients): Route[] {
  return [
    route({
      method: "get",
      path: "/account/v1/server-key-rotation",
      operationId: "listServerKeyRotations",
      summary: "Rotations of the account's server key that wait for this device's signature",
      token: "user",
      response: z.object({ rotations: z.array(z.object({ chainName: z.string(), message: z.string() })) }),
      errors: ["AccountNotReady", "ChainUnavailable"],
      handler: async (_input, call) => {
        const { rotations } = await serverKeys.listServerKeyRotations({}, { call, deadlineMs: DEADLINES.chain });
        return { rotations: rotations.map(({ chainName, message }) => ({ chainName, message: toHex(message) })) };
      },
    }),
    route({
      method: "post",
      path: "/account/v1/server-key-rotation",
      operationId: "rotateServerKey",
      summary: "Submits a rotation that this device has signed, and waits for its seal for a while",
      token: "user",
      request: { body: rotationBody },
      response: z.object({ transaction: transactionReferenceSchema, done: z.boolean() }),
      errors: [
        "InvalidMessage",
        "InvalidSignature",
        "UnknownChain",
        "MessageRenewed",
        "SigningRefused",
        "AccountNotReady",
        "AccountFrozen",
        "SignerNotCurrent",
        "ChainUnavailable",
      ],
      handler: async ({ body }, call) => {
        const { extensionData = Buffer.alloc(0), ...signed } = body;
        const request = { ...signed, extensionData };
        const { transaction, done } = await serverKeys.rotateServerKey(request, {
          call,
          deadlineMs: DEADLINES.approval,
        });
        const { id = "", chainName = "", refUrl = "" } = transaction ?? {};
        return { transaction: { id, chainName, refUrl }, done };
      },
    }),
  ];
}

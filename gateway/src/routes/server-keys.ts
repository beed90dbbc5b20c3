import { requiredText } from "@countersign/http-api/requests.ts";
import { ServerKeyRotation, TransactionReference } from "@countersign/http-api/resources.ts";
import { z } from "zod";
import type { Services } from "../clients.ts";
import { hexBytes, toHex } from "../http/fields.ts";
import { type Route, route } from "../http/route.ts";
import { toTransactionReference } from "./mapping/account.ts";
import { DEADLINES, repeatable } from "./rpc.ts";

const rotationBody = z.object({
  chainName: requiredText(64),
  message: hexBytes(32 * 1024),
  /** Raw r||s of the session's account key, also a passkey's. */
  signature: hexBytes(64),
  /** Accompanies a passkey's signature, in its form on chain (FLIP 264). */
  extensionData: hexBytes(4_096).optional(),
});

/** Returns the routes that rotate the account's server key: the chain requires a device's signature too. */
export const serverKeyRoutes = ({ serverKeys }: Services): Route[] => [
  route({
    method: "get",
    path: "/account/v1/server-key-rotation",
    operationId: "listServerKeyRotations",
    summary: "Rotations of the account's server key that wait for this device's signature",
    token: "user",
    response: z.object({ rotations: z.array(ServerKeyRotation) }),
    errors: ["AccountNotReady", "ChainUnavailable"],
    handler: async (_input, call) => {
      const { rotations } = await serverKeys.listServerKeyRotations({}, repeatable(call, DEADLINES.chain));
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
    response: z.object({ transaction: TransactionReference, done: z.boolean() }),
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
    handler: async ({ body: { extensionData = Buffer.alloc(0), ...signed } }, call) => {
      // The account service submits the bytes that it has committed, and signs nothing twice.
      const options = repeatable(call, DEADLINES.approval);
      const { transaction, done } = await serverKeys.rotateServerKey({ ...signed, extensionData }, options);
      return { transaction: toTransactionReference(transaction), done };
    },
  }),
];

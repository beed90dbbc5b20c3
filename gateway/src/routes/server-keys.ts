import { resource } from "@countersign/http-api/formats.ts";
import { ChainNameInput } from "@countersign/http-api/requests.ts";
import { ServerKeyRotation, TransactionReference } from "@countersign/http-api/resources.ts";
import { z } from "zod";
import type { Services } from "../clients.ts";
import { extensionData, hexBytes, toHex } from "../http/fields.ts";
import { route, type UntaggedRoute } from "../http/route.ts";
import { toTransactionReference } from "./mapping/account.ts";
import { DEADLINES, repeatable } from "./rpc.ts";

const rotationBody = resource("RotateServerKeyRequest", "A rotation with the device's signature.", {
  chainName: ChainNameInput,
  message: hexBytes(32 * 1024, "Hex of the rotation's message, as it was listed.", "464c4f57"),
  signature: hexBytes(64, "Raw r||s of the session's account key, also a passkey's.", "ab".repeat(64)),
  extensionData,
});

/** Returns the routes that rotate the account's server key: the chain requires a device's signature too. */
export const serverKeyRoutes = ({ serverKeys }: Services): UntaggedRoute[] => [
  route({
    method: "get",
    path: "/account/v1/server-key-rotation",
    operationId: "listServerKeyRotations",
    summary: "Rotations of the account's server key that wait for this device's signature",
    description: "The chain requires a device's signature beside the server's. Decode each message before you sign it.",
    token: "user",
    response: resource("ServerKeyRotationsResponse", "Rotations that wait for this device.", {
      rotations: z.array(ServerKeyRotation).meta({ description: "One per network at most." }),
    }),
    errors: ["AccountNotReady", "ChainUnavailable", "RateLimited"],
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
    description: "`done` is false where the seal takes longer: ask for the list again later.",
    token: "user",
    request: { body: rotationBody },
    response: resource("RotateServerKeyResponse", "The transaction that rotates the server key.", {
      transaction: TransactionReference,
      done: z.boolean().meta({ description: "Whether the transaction is sealed.", examples: [true] }),
    }),
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
      // The account service submits the bytes that it has committed, and signs nothing twice.
      const options = repeatable(call, DEADLINES.approval);
      const { transaction, done } = await serverKeys.rotateServerKey(body, options);
      return { transaction: toTransactionReference(transaction), done };
    },
  }),
];

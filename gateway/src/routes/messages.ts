import { Algorithm, Hex } from "@countersign/http-api/formats.ts";
import { PublicKeyInput, requiredText } from "@countersign/http-api/requests.ts";
import { Network } from "@countersign/http-api/resources.ts";
import { z } from "zod";
import type { Services } from "../clients.ts";
import { cadenceAddress, toHex } from "../http/fields.ts";
import { type Route, route } from "../http/route.ts";
import { fromPublicKey } from "./mapping/public-key.ts";
import { DEADLINES, repeatable } from "./rpc.ts";

/** The account service knows which templates take a key or an address. */
const messageBody = z.object({
  template: requiredText(64),
  chainName: requiredText(64),
  publicKey: PublicKeyInput.nullish(),
  algorithm: Algorithm.nullish(),
  address: cadenceAddress().nullish(),
});

/**
 * Returns the routes for data that a client needs before it signs: the networks, and messages that are ready
 * to be signed.
 */
export const messageRoutes = ({ networks, messages }: Services): Route[] => [
  route({
    method: "get",
    path: "/account/v1/networks",
    operationId: "listNetworks",
    summary: "The chains that accounts can be on, with what a client needs to use them",
    token: "user",
    recover: true,
    response: z.object({ networks: z.array(Network) }),
    handler: async (_input, call) => {
      const answer = await networks.listNetworks({}, repeatable(call));
      return {
        networks: answer.networks.map(({ chainId, paymaster, ...network }) => ({
          ...network,
          chainId: Number(chainId),
          paymaster: `0x${toHex(paymaster)}`,
        })),
      };
    },
  }),
  route({
    method: "post",
    path: "/account/v1/messages",
    operationId: "prepareMessage",
    summary: "Prepares the message of a template, ready to be signed by this device",
    token: "user",
    limit: "messages",
    request: { body: messageBody },
    response: z.object({ message: Hex }),
    errors: [
      "InvalidPublicKey",
      "UnknownChain",
      "UnsupportedKey",
      "AccountNotReady",
      "KeyNotFound",
      "KeyAlreadyRegistered",
      "ChainUnavailable",
    ],
    handler: async ({ body }, call) => {
      const { template, chainName, publicKey: hex, algorithm, address } = body;
      const publicKey = hex ? fromPublicKey(hex, algorithm ?? undefined, "/publicKey") : undefined;
      const request = { template, chainName, publicKey, address: address ?? Buffer.alloc(0) };
      const { message } = await messages.prepareMessage(request, repeatable(call, DEADLINES.chain));
      return { message: toHex(message) };
    },
  }),
];

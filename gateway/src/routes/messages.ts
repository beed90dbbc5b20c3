import { Algorithm, Hex, resource } from "@countersign/http-api/formats.ts";
import { ChainNameInput, PublicKeyInput, requiredText } from "@countersign/http-api/requests.ts";
import { Network } from "@countersign/http-api/resources.ts";
import { z } from "zod";
import type { Services } from "../clients.ts";
import { cadenceAddress, toHex } from "../http/fields.ts";
import { route, type UntaggedRoute } from "../http/route.ts";
import { fromPublicKey } from "./mapping/public-key.ts";
import { DEADLINES, repeatable } from "./rpc.ts";

/** The account service knows which templates take a key or an address. */
const messageBody = resource("MessageRequest", "The template to prepare, with its arguments.", {
  template: requiredText(64).meta({
    description: "A template's name: `listTemplates` has all, docs/api.md those that are prepared.",
    examples: ["revoke-recovery-key"],
  }),
  chainName: ChainNameInput,
  publicKey: PublicKeyInput.optional().meta({
    description: "The key to add, revoke or replace, for a template that needs one.",
  }),
  algorithm: Algorithm.optional(),
  address: cadenceAddress().optional().meta({
    description: "The other account, for a template about parents.",
  }),
});

/**
 * Returns the routes for data that a client needs before it signs: the networks, and messages that are ready
 * to be signed.
 */
export const messageRoutes = ({ networks, messages }: Services): UntaggedRoute[] => [
  route({
    method: "get",
    path: "/account/v1/networks",
    operationId: "listNetworks",
    summary: "The chains that accounts can be on, with what a client needs to use them",
    description: "An app that has not signed up yet has its chain's name in its own configuration.",
    token: "user",
    recover: true,
    response: resource("NetworksResponse", "The networks.", {
      networks: z.array(Network).meta({ description: "The configured networks." }),
    }),
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
    description:
      "The message is for the token's own account, with server key, sequence number and reference " +
      "block from the chain. Decode it before you sign it. It is valid for about eight minutes, until " +
      "the server key has proposed something else.",
    token: "user",
    request: { body: messageBody },
    beyondSchema: {
      "/template": "the template is unknown, or is not prepared by this operation",
      "/publicKey": "the template needs a key",
      "/address": "the template needs an address",
    },
    response: resource("MessageResponse", "A message that is ready to be signed.", {
      message: Hex.meta({ description: "Hex of the domain tag and the RLP of the payload." }),
    }),
    errors: [
      "InvalidPublicKey",
      "UnknownChain",
      "UnsupportedKey",
      "AccountNotReady",
      "KeyNotFound",
      "KeyAlreadyRegistered",
      "ChainUnavailable",
      "RateLimited",
    ],
    handler: async ({ body }, call) => {
      const { template, chainName, publicKey: hex, algorithm, address } = body;
      const publicKey = hex ? fromPublicKey(hex, algorithm, "/publicKey") : undefined;
      const request = { template, chainName, publicKey, address: address ?? Buffer.alloc(0) };
      const { message } = await messages.prepareMessage(request, repeatable(call, DEADLINES.chain));
      return { message: toHex(message) };
    },
  }),
];

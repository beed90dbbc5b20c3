import type { PrepareMessageRequest, PrepareMessageResponse } from "@countersign/proto/account/v1/messages.ts";
import type { ListNetworksRequest, ListNetworksResponse } from "@countersign/proto/account/v1/networks.ts";
import { z } from "zod";
import { type Route, route } from "../http/route.ts";
import { cadenceAddress, requiredText, toHex } from "../http/validation.ts";
import { algorithmSchema, fromPublicKey, publicKeySchema } from "./resources/public-key.ts";
import { DEADLINES, type Rpc } from "./rpc.ts";

/** What of account these routes call. */
export interface MessageClients {
  networks: { listNetworks: Rpc<ListNetworksRequest, ListNetworksResponse> };
  messages: { prepareMessage: Rpc<PrepareMessageRequest, PrepareMessageResponse> };
}

const networkSchema = z.object({
  chainName: z.string(),
  chainType: z.string(),
  chainId: z.int(),
  accessNode: z.string(),
  paymaster: z.string(),
  explorerUrl: z.string(),
});

/** The service knows the templates, and which of them want a key or an address. */
const messageBody = z.object({
  template: requiredText(64),
  chainName: requiredText(64),
  publicKey: publicKeySchema.nullish(),
  algorithm: algorithmSchema.nullish(),
  address: cadenceAddress().nullish(),
});

/** What a client must know before it signs: the networks, and messages that are ready to be signed. */
export function messageRoutes({ networks, messages }: MessageClients): Route[] {
  return [
    route({
      method: "get",
      path: "/account/v1/networks",
      operationId: "listNetworks",
      summary: "The chains that accounts can be on, with what a client needs to use them",
      token: "user",
      recover: true,
      response: z.object({ networks: z.array(networkSchema) }),
      handler: async (_input, call) => {
        const answer = await networks.listNetworks({}, { call, deadlineMs: DEADLINES.unary });
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
      response: z.object({ message: z.string() }),
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
        const { message } = await messages.prepareMessage(request, { call, deadlineMs: DEADLINES.chain });
        return { message: toHex(message) };
      },
    }),
  ];
}

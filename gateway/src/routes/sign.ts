import type { Reason } from "@countersign/core";
import { optionalText } from "@countersign/http-api/requests.ts";
import { CompositeSignature, Template } from "@countersign/http-api/resources.ts";
import type { Signature } from "@countersign/proto/signer/v1/signing.ts";
import { z } from "zod";
import type { Services } from "../clients.ts";
import { hexBytes, toHex } from "../http/fields.ts";
import { type Route, route } from "../http/route.ts";
import { DEADLINES, once, repeatable } from "./rpc.ts";

const errors: Reason[] = [
  "InvalidMessage",
  "UnknownChain",
  "SigningRefused",
  "AccountNotReady",
  "AccountFrozen",
  "SignerNotCurrent",
  "MessageRenewed",
  "LoginTooOld",
  "TimeLockRequired",
  "TimeLockCancelled",
];

const signing = {
  method: "post",
  token: "ephemeral",
  recover: true,
  limit: "signatures",
  // `chainName` is needed only where the account has the same address on two chains.
  request: { body: z.object({ message: hexBytes(32 * 1024), chainName: optionalText(64) }) },
  response: z.object({ signature: CompositeSignature }),
  errors,
} as const;

/**
 * Returns the routes of the server key's and the paymaster's signatures, and of the templates that the signer
 * signs.
 */
export const signRoutes = ({ signing: signer, information }: Services): Route[] => [
  route({
    method: "get",
    path: "/sign/v1/cadence/templates",
    operationId: "listTemplates",
    summary: "The templates that the signer signs: exact script, parameters, gas limit",
    token: "user",
    recover: true,
    // Needed only where the service has several chains.
    request: { query: z.object({ chainName: optionalText(64) }) },
    response: z.object({ templates: z.array(Template) }),
    errors: ["UnknownChain"],
    handler: async ({ query }, call) => {
      const { templates } = await information.listTemplates(query, repeatable(call));
      return { templates: templates.map((template) => ({ ...template, gasLimit: Number(template.gasLimit) })) };
    },
  }),
  route({
    ...signing,
    path: "/sign/v1/cadence/transaction",
    operationId: "signTransaction",
    summary: "Signs a transaction's payload as the account's second authorizer",
    handler: async ({ body }, call) => {
      const { signature } = await signer.signTransaction(body, once(call, DEADLINES.signer));
      return { signature: toSignature(signature) };
    },
  }),
  route({
    ...signing,
    path: "/sign/v1/cadence/paymaster",
    operationId: "signPaymaster",
    summary: "Signs a transaction's envelope as its payer",
    handler: async ({ body }, call) => {
      const { signature } = await signer.signPaymaster(body, once(call, DEADLINES.signer));
      return { signature: toSignature(signature) };
    },
  }),
];

const toSignature = (signature: Signature | undefined): CompositeSignature => ({
  addr: `0x${toHex(signature?.address)}`,
  keyId: signature?.keyId ?? 0,
  signature: toHex(signature?.signature),
});

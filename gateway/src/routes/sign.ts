import type { Reason } from "@countersign/core";
import { resource } from "@countersign/http-api/formats.ts";
import { optionalText } from "@countersign/http-api/requests.ts";
import { CompositeSignature, Template } from "@countersign/http-api/resources.ts";
import { z } from "zod";
import type { Services } from "../clients.ts";
import { hexBytes } from "../http/fields.ts";
import { route, type UntaggedRoute } from "../http/route.ts";
import { toSignatureResponse } from "./mapping/signature.ts";
import { DEADLINES, once, repeatable } from "./rpc.ts";

/** The errors of every signature of the account's server key. */
export const SIGNING_ERRORS = [
  "InvalidMessage",
  "UnknownChain",
  "SigningRefused",
  "AccountNotReady",
  "AccountFrozen",
  "SignerNotCurrent",
  "RateLimited",
] as const satisfies Reason[];

const errors: Reason[] = [...SIGNING_ERRORS, "MessageRenewed", "LoginTooOld", "TimeLockRequired", "TimeLockCancelled"];

export const SignatureResponse = resource("SignatureResponse", "The signature over the message.", {
  signature: CompositeSignature,
});

export const chainOfAccount = optionalText(64).meta({
  description: "Needed only where the account has the same address on two chains.",
  examples: ["flow-emulator"],
});

const signing = {
  method: "post",
  token: "ephemeral",
  recover: true,
  request: {
    body: resource("SignRequest", "The message to sign.", {
      message: hexBytes(32 * 1024, "Hex of the domain tag and the RLP of payload or envelope.", "464c4f57"),
      chainName: chainOfAccount,
    }),
  },
  response: SignatureResponse,
  errors,
} as const;

/**
 * Returns the routes of the server key's and the paymaster's signatures, and of the templates that the signer
 * signs.
 */
export const signRoutes = ({ signing: signer, information }: Services): UntaggedRoute[] => [
  route({
    method: "get",
    path: "/sign/v1/cadence/templates",
    operationId: "listTemplates",
    summary: "The templates that the signer signs: exact script, parameters, gas limit",
    description:
      "The signer signs a template only with exactly this script. `chainName` is needed only where " +
      "there are several chains.",
    token: "user",
    recover: true,
    request: {
      query: z.object({
        chainName: optionalText(64).meta({
          description: "Needed only where the service has several chains.",
          examples: ["flow-emulator"],
        }),
      }),
    },
    response: resource("TemplatesResponse", "The templates that the signer signs.", {
      templates: z.array(Template).meta({ description: "The templates of the chain." }),
    }),
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
    description:
      "`message` is the domain tag and the RLP of the payload. The signer decodes it, and refuses " +
      "anything that could harm the account; `reason` names the rule.",
    handler: async ({ body }, call) =>
      toSignatureResponse(await signer.signTransaction(body, once(call, DEADLINES.signer))),
  }),
  route({
    ...signing,
    path: "/sign/v1/cadence/paymaster",
    operationId: "signPaymaster",
    summary: "Signs a transaction's envelope as its payer",
    description:
      "`message` is the domain tag and the RLP of the envelope, over the signatures of the payload. " +
      "The paymaster pays within its budget.",
    handler: async ({ body }, call) =>
      toSignatureResponse(await signer.signPaymaster(body, once(call, DEADLINES.signer))),
  }),
];

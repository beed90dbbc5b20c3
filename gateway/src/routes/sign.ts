import type { Reason } from "@countersign/core";
import type { ListTemplatesRequest, ListTemplatesResponse } from "@countersign/proto/signer/v1/information.ts";
import type {
  Signature,
  SignPaymasterRequest,
  SignPaymasterResponse,
  SignTransactionRequest,
  SignTransactionResponse,
} from "@countersign/proto/signer/v1/signing.ts";
import { z } from "zod";
import { type Route, route } from "../http/route.ts";
import { hexBytes, optionalText, toHex } from "../http/validation.ts";
import { DEADLINES, type Rpc } from "./rpc.ts";

/** What of signer these routes call. */
export interface SignClients {
  signing: {
    signTransaction: Rpc<SignTransactionRequest, SignTransactionResponse>;
    signPaymaster: Rpc<SignPaymasterRequest, SignPaymasterResponse>;
  };
  information: { listTemplates: Rpc<ListTemplatesRequest, ListTemplatesResponse> };
}

/** `chainName` is needed only where the account has the same address on two chains. */
const signBody = z.object({ message: hexBytes(32 * 1024), chainName: optionalText(64) });

/** `chainName` is needed only where the service has several chains. */
const templatesQuery = z.object({ chainName: optionalText(64) });

const templateSchema = z.object({
  name: z.string(),
  script: z.string(),
  parameters: z.array(z.object({ name: z.string(), type: z.string(), value: z.string() })),
  gasLimit: z.int(),
});

const signatureSchema = z.object({ addr: z.string(), keyId: z.int(), signature: z.string() });

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

/** The server key's and the paymaster's signatures, and the templates that get them. */
export function signRoutes({ signing, information }: SignClients): Route[] {
  const common = {
    method: "post",
    token: "ephemeral",
    recover: true,
    limit: "signatures",
    request: { body: signBody },
    response: z.object({ signature: signatureSchema }),
    errors,
  } as const;
  return [
    route({
      method: "get",
      path: "/sign/v1/cadence/templates",
      operationId: "listTemplates",
      summary: "The templates that the signer signs: exact script, parameters, gas limit",
      token: "user",
      recover: true,
      request: { query: templatesQuery },
      response: z.object({ templates: z.array(templateSchema) }),
      errors: ["UnknownChain"],
      handler: async ({ query }, call) => {
        const answer = await information.listTemplates(query, { call, deadlineMs: DEADLINES.unary });
        return {
          templates: answer.templates.map(({ gasLimit, ...rest }) => ({ ...rest, gasLimit: Number(gasLimit) })),
        };
      },
    }),
    route({
      ...common,
      path: "/sign/v1/cadence/transaction",
      operationId: "signTransaction",
      summary: "Signs a transaction's payload as the account's second authorizer",
      handler: async ({ body }, call) => {
        const answer = await signing.signTransaction(body, { call, deadlineMs: DEADLINES.signer });
        return { signature: toSignature(answer.signature) };
      },
    }),
    route({
      ...common,
      path: "/sign/v1/cadence/paymaster",
      operationId: "signPaymaster",
      summary: "Signs a transaction's envelope as its payer",
      handler: async ({ body }, call) => {
        const answer = await signing.signPaymaster(body, { call, deadlineMs: DEADLINES.signer });
        return { signature: toSignature(answer.signature) };
      },
    }),
  ];
}

function toSignature(signature: Signature | undefined): z.infer<typeof signatureSchema> {
  return {
    addr: `0x${toHex(signature?.address)}`,
    keyId: signature?.keyId ?? 0,
    signature: toHex(signature?.signature),
  };
}

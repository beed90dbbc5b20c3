import type { Reason } from "@countersign/errors";
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
}

/** `chainName` is needed only where the account has the same address on two chains. */
const signBody = z.object({ message: hexBytes(32 * 1024), chainName: optionalText(64) });

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
  "DelayRequired",
  "DelayCancelled",
];

/** The server key's and the paymaster's signatures. */
export function signRoutes({ signing }: SignClients): Route[] {
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

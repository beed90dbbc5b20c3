import { resource } from "@countersign/http-api/formats.ts";
import { requiredText } from "@countersign/http-api/requests.ts";
import type { Services } from "../clients.ts";
import { cadenceAddress, extensionData, hexBytes } from "../http/fields.ts";
import { route, type UntaggedRoute } from "../http/route.ts";
import { toSignatureResponse } from "./mapping/signature.ts";
import { DEADLINES, once } from "./rpc.ts";
import { chainOfAccount, SIGNING_ERRORS, SignatureResponse } from "./sign.ts";

/** The account in whose name is signed, and its user's signature over tag and content. */
const signed = {
  address: cadenceAddress(),
  chainName: chainOfAccount,
  signature: hexBytes(
    64,
    "Raw r||s of the session's account key, also a passkey's, over domain tag and content.",
    "ab".repeat(64),
    64,
  ),
  extensionData,
};

const userMessageBody = resource("SignUserMessageRequest", "A text with the user's signature over it.", {
  message: hexBytes(
    4_096,
    "Hex of a text in UTF-8, without the domain tag. It has no hidden characters, and not exactly 32 bytes.",
    "492061677265652e",
  ),
  ...signed,
});

const accountProofBody = resource("SignAccountProofRequest", "An account proof with the user's signature over it.", {
  appIdentifier: requiredText(256).meta({
    description: "The app that the proof is for: its origin, or the name that its backend expects.",
    examples: ["https://dapp.example"],
  }),
  nonce: hexBytes(128, "32 to 128 random bytes, from the app's backend.", "75".repeat(32), 32),
  ...signed,
});

const signing = {
  method: "post",
  token: "user",
  response: SignatureResponse,
  errors: [...SIGNING_ERRORS],
} as const;

/** Returns the routes of signatures that prove something to an app and change nothing on chain. */
export const userMessageRoutes = ({ userMessages }: Services): UntaggedRoute[] => [
  route({
    ...signing,
    path: "/sign/v1/cadence/user-message",
    operationId: "signUserMessage",
    summary: "Signs a text with the account's server key, as FCL's user signatures",
    description:
      "The signer puts the tag `FLOW-V0.0-user` before the text, verifies the user's signature over both, " +
      "and signs the same. It signs no binary data: 32 bytes of them could be an order on EVM.",
    request: { body: userMessageBody },
    handler: async ({ body: { message, ...userSignature } }, call) => {
      const request = { message, userSignature };
      return toSignatureResponse(await userMessages.signUserMessage(request, once(call, DEADLINES.signer)));
    },
  }),
  route({
    ...signing,
    path: "/sign/v1/cadence/account-proof",
    operationId: "signAccountProof",
    summary: "Signs with the account's server key that the account belongs to an app's user",
    description:
      "The signer makes FCL's account proof for the address, under the tag `FCL-ACCOUNT-PROOF-V0.0`, verifies " +
      "the user's signature over it, and signs the same.",
    request: { body: accountProofBody },
    handler: async ({ body: { appIdentifier, nonce, ...userSignature } }, call) => {
      const request = { appIdentifier, nonce, userSignature };
      return toSignatureResponse(await userMessages.signAccountProof(request, once(call, DEADLINES.signer)));
    },
  }),
];

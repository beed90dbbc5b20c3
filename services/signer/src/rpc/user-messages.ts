import { invalidField } from "@countersign/core";
import { bytesToHex } from "@countersign/keys";
import type {
  UserMessagesService,
  UserSignature as WireUserSignature,
} from "@countersign/proto/signer/v1/user_messages.ts";
import { type CallContext, type Handlers, requireToken } from "@countersign/rpc";
import type { Commands } from "../domain/commands.ts";
import type { UserSignature } from "../domain/sign-user-message.ts";
import { requireLength, signedToProto } from "./conversions.ts";

/** A passkey's extension data on chain is no longer. */
const MAX_EXTENSION_BYTES = 4_096;

/** Handles signer.v1.UserMessages. */
export const userMessagesHandlers = (commands: Commands): Handlers<UserMessagesService> => ({
  signUserMessage: async ({ userSignature, message }, call) =>
    signedToProto(await commands.signUserMessage({ ...userSignatureFrom(userSignature, call), text: message })),

  signAccountProof: async ({ userSignature, appIdentifier, nonce }, call) => {
    const signed = userSignatureFrom(userSignature, call);
    return signedToProto(await commands.signAccountProof({ ...signed, appIdentifier, nonce: bytesToHex(nonce) }));
  },
});

/** Reads the account and its user's signature. Errors: InvalidRequest. */
function userSignatureFrom(wire: WireUserSignature | undefined, call: CallContext): UserSignature {
  if (!wire) throw invalidField("/userSignature", "required");
  const { address, chainName, signature, extensionData } = wire;
  requireLength(address, 8, "address");
  requireLength(signature, 64, "signature");
  if (extensionData.length > MAX_EXTENSION_BYTES) throw invalidField("/extensionData", "too long");
  return {
    ...{ token: requireToken(call), caller: call.caller, chainName, address: bytesToHex(address) },
    signature: {
      signature: bytesToHex(signature),
      ...(extensionData.length > 0 && { extensionData: bytesToHex(extensionData) }),
    },
  };
}

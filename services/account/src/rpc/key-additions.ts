import { AppError, isUuid } from "@countersign/core";
import { bytesToHex, PublicKeyError, parsePublicKey, parseSignature, SignatureError } from "@countersign/keys";
import type { PublicKey as ProtoPublicKey } from "@countersign/proto/common/v1/types.ts";
import { publicKeyFromProto } from "@countersign/rpc";
import type { KeyAdditionTarget } from "../domain/key-addition.ts";
import type { ApproverSignature } from "../domain/submit-key-addition.ts";

/** Account, chain and key of a request. Errors: InvalidRequest, InvalidPublicKey. */
export function targetFrom(request: {
  accountId: string;
  chainName: string;
  userKey: ProtoPublicKey | undefined;
}): KeyAdditionTarget {
  return {
    accountId: uuidFrom(request.accountId, "/accountId"),
    chainName: request.chainName,
    userKey: keyFrom(request.userKey, "/userKey"),
  };
}

export function keyFrom(key: ProtoPublicKey | undefined, pointer: string) {
  const { publicKey, algorithm } = publicKeyFromProto(key, pointer);
  try {
    return parsePublicKey(publicKey, algorithm);
  } catch (error) {
    if (error instanceof PublicKeyError) throw new AppError("InvalidPublicKey", { detail: error.message });
    throw error;
  }
}

export function uuidFrom(value: string, pointer: string): string {
  if (!isUuid(value)) throw new AppError("InvalidRequest", { fields: [{ pointer, detail: "not a UUID" }] });
  return value;
}

/** Of what the signer takes apart no more than this is ever a passkey's. */
const MAX_EXTENSION_BYTES = 4096;

/** A user's signature as it stands on chain. Errors: InvalidSignature. */
export function signatureFrom({
  signature,
  extensionData,
}: {
  signature: Uint8Array;
  extensionData: Uint8Array;
}): ApproverSignature {
  if (extensionData.length > MAX_EXTENSION_BYTES) throw new AppError("InvalidSignature");
  try {
    return {
      signature: bytesToHex(parseSignature(signature)),
      ...(extensionData.length > 0 && { extensionData: bytesToHex(extensionData) }),
    };
  } catch (error) {
    if (error instanceof SignatureError) throw new AppError("InvalidSignature");
    throw error;
  }
}

import { AppError, isUuid } from "@countersign/core";
import { AccessApiError } from "@countersign/flow";
import { bytesToHex, PublicKeyError, parsePublicKey, parseSignature, SignatureError } from "@countersign/keys";
import type { PublicKey as ProtoPublicKey } from "@countersign/proto/common/v1/types.ts";
import { publicKeyFromProto } from "@countersign/rpc";
import type { KeyAdditionTarget } from "../domain/key-additions/key-addition.ts";
import type { ApproverSignature } from "../domain/key-additions/submit-key-addition.ts";

/** Reads account, chain and key of a request. Errors: InvalidRequest, InvalidPublicKey. */
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

/** The signer reads no longer extension data of a passkey. */
const MAX_EXTENSION_BYTES = 4096;

/** Reads a user's signature in its form on chain. Errors: InvalidSignature. */
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

/** Reports a chain that did not answer. Errors: ChainUnavailable, and those of `work`. */
export async function fromChain<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof AccessApiError ? new AppError("ChainUnavailable", { cause: error }) : error;
  }
}

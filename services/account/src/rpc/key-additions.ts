import { AppError } from "@countersign/errors";
import { PublicKeyError, parsePublicKey } from "@countersign/keys";
import type { PublicKey as ProtoPublicKey } from "@countersign/proto/common/v1/types.ts";
import { isUuid, publicKeyFromProto } from "@countersign/service-kit";
import type { KeyAdditionTarget } from "../domain/key-addition.ts";

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

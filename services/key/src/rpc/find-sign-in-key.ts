import type { FindSignInKeyRequest, FindSignInKeyResponse } from "@countersign/proto/key/v1/keys.ts";
import { publicKeyToProto } from "@countersign/rpc";
import { z } from "zod";
import type { findSignInKey } from "../domain/find-sign-in-key.ts";
import type { Registration } from "../domain/registration.ts";
import { chainName, parseRequest, publicKey, toWireOrigin, toWireType, uuid } from "./messages.ts";

const shape = z.object({ accountId: uuid, chainName, publicKey: publicKey("/publicKey") });

/** key.v1.Keys/FindSignInKey */
export const findSignInKeyRpc =
  (find: ReturnType<typeof findSignInKey>) =>
  async (request: FindSignInKeyRequest): Promise<FindSignInKeyResponse> =>
    toSignInKey(await find(parseRequest(shape, request)));

/** A registration as auth needs it to open a session. */
export const toSignInKey = ({ type, accountKey, deviceKey, origin }: Registration): FindSignInKeyResponse => ({
  type: toWireType(type),
  accountKey: publicKeyToProto(accountKey),
  deviceKey: publicKeyToProto(deviceKey),
  origin: toWireOrigin(origin),
});

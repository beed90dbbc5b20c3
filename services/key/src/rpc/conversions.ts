import { AppError, isUuid } from "@countersign/core";
import { type PublicKey, PublicKeyError, parsePublicKey } from "@countersign/keys";
import {
  type Device,
  type PublicKey as WirePublicKey,
  UserKeyType as WireType,
} from "@countersign/proto/common/v1/types.ts";
import { type Key, KeyOrigin as WireOrigin } from "@countersign/proto/key/v1/keys.ts";
import { publicKeyFromProto, publicKeyToProto } from "@countersign/rpc";
import { z } from "zod";
import type { KeyOrigin, Registration, UserKeyType } from "../domain/registration.ts";

/** Parses a decoded request by its shape. Errors: InvalidRequest with every invalid field. */
export function parseRequest<T>(shape: z.ZodType<T>, request: unknown): T {
  const result = shape.safeParse(request);
  if (result.success) return result.data;
  const fields = result.error.issues.map(({ path, message }) => ({ pointer: `/${path.join("/")}`, detail: message }));
  throw new AppError("InvalidRequest", { fields });
}

export const uuid = z.string().refine(isUuid, "is not a UUID in lower case");

/** At most 256 UTF-16 units, none of them a control character. */
export const text = z
  .string()
  .max(256, "has more than 256 characters")
  .regex(/^\P{Cc}*$/u, "has control characters");

export const chainName = z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, "is not the name of a chain");

/** Reads common.v1.PublicKey and checks that it is on its curve. Errors: InvalidPublicKey. */
export const publicKey = (pointer: string) =>
  z.custom<WirePublicKey | undefined>().transform((wire): PublicKey => {
    const key = publicKeyFromProto(wire, pointer);
    try {
      return parsePublicKey(key.publicKey, key.algorithm);
    } catch (error) {
      if (!(error instanceof PublicKeyError)) throw error;
      throw new AppError("InvalidPublicKey", { fields: [{ pointer, detail: error.message }], cause: error });
    }
  });

const wireTypes = {
  device: WireType.USER_KEY_TYPE_DEVICE,
  passkey: WireType.USER_KEY_TYPE_PASSKEY,
} as const satisfies Record<UserKeyType, WireType>;

const wireOrigins = {
  "sign-up": WireOrigin.KEY_ORIGIN_SIGN_UP,
  "two-factor": WireOrigin.KEY_ORIGIN_TWO_FACTOR,
  recovery: WireOrigin.KEY_ORIGIN_RECOVERY,
  chain: WireOrigin.KEY_ORIGIN_CHAIN,
} as const satisfies Record<KeyOrigin, WireOrigin>;

/**
 * Reads a member of an enum of the contract as the domain's name; refuses unspecified and unknown members.
 */
function named<Name extends string>(members: Record<Name, number>) {
  const names = Object.keys(members) as Name[];
  return z.number().transform((value, context): Name => {
    const name = names.find((each) => members[each] === value);
    if (name) return name;
    context.addIssue({ code: "custom", message: "is not specified" });
    return z.NEVER;
  });
}

export const userKeyType = named<UserKeyType>(wireTypes);
export const keyOrigin = named<KeyOrigin>(wireOrigins);
export const toWireType = (type: UserKeyType): WireType => wireTypes[type];
export const toWireOrigin = (origin: KeyOrigin): WireOrigin => wireOrigins[origin];

export function toWireKey(registration: Registration, device: Device | undefined): Key {
  const { accountId, chainName, app, name, keyIndex, createdAt, weight } = registration;
  const kind: Pick<Key, "userKey" | "recoverKey"> =
    registration.kind === "recovery"
      ? {
          recoverKey: {
            type: "cloud",
            cloudAccountName: registration.cloudAccountName,
            pending: registration.pendingUntil !== null,
          },
        }
      : {
          userKey: { type: toWireType(registration.type), deviceKey: publicKeyToProto(registration.deviceKey), device },
        };
  return {
    accountKey: publicKeyToProto(registration.accountKey),
    accountId,
    chainName,
    app,
    ...kind,
    name,
    keyIndex,
    lastUsedAt: registration.lastUsedAt ?? undefined,
    revokedAt: registration.revokedAt ?? undefined,
    createdAt,
    weight,
  };
}

import type { Device } from "@countersign/proto/common/v1/types.ts";
import { type Key, KeyOrigin as WireOrigin } from "@countersign/proto/key/v1/keys.ts";
import { nameOf, publicKeyToProto, USER_KEY_TYPES } from "@countersign/rpc";
import { z } from "zod";
import type { KeyOrigin, Registration, UserKeyType } from "../domain/registration.ts";

export const chainName = z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, "is not the name of a chain");

export const wireOrigins = {
  "sign-up": WireOrigin.KEY_ORIGIN_SIGN_UP,
  "two-factor": WireOrigin.KEY_ORIGIN_TWO_FACTOR,
  recovery: WireOrigin.KEY_ORIGIN_RECOVERY,
  chain: WireOrigin.KEY_ORIGIN_CHAIN,
} as const satisfies Record<KeyOrigin, WireOrigin>;

/**
 * Reads a member of an enum of the contract as the domain's name; refuses unspecified and unknown members.
 */
const named = <Name extends string>(members: Record<Name, number>) =>
  z.number().transform((value, context): Name => {
    const name = nameOf(members, value);
    if (name) return name;
    context.addIssue({ code: "custom", message: "is not specified" });
    return z.NEVER;
  });

export const userKeyType = named<UserKeyType>(USER_KEY_TYPES);
export const keyOrigin = named<KeyOrigin>(wireOrigins);

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
          userKey: {
            type: USER_KEY_TYPES[registration.type],
            deviceKey: publicKeyToProto(registration.deviceKey),
            device,
          },
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

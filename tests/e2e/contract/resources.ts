import { isDeepStrictEqual } from "node:util";
import { CadenceAddress, Hex, OptionalTransactionId, Timestamp, Uuid } from "@countersign/http-api/formats.ts";
import * as http from "@countersign/http-api/resources.ts";
import { z } from "zod";

/*
 * The documented resources as the stack of these tests answers them: their shape is that of
 * packages/http-api, and where a value has to be there, or has one of few forms, this file says so.
 */

const some = z.string().min(1);
const jwt = z.string().regex(/^eyJ[\w-]+\.[\w-]+\.[\w-]+$/);
const webAddress = z.url({ protocol: /^https?$/ });
export const hex = Hex.min(1);
export const txId = OptionalTransactionId.min(1);
export const cadenceAddress = CadenceAddress;

const onChain = http.Address.extend({
  profileImageUrl: webAddress.or(z.literal("")),
  chainName: some,
  chainId: z.int().positive(),
});
export const address = z.discriminatedUnion("chainType", [
  onChain.extend({ chainType: z.literal("cadence"), address: CadenceAddress }),
  onChain.extend({ chainType: z.literal("evm"), address: z.string().regex(/^0x[0-9a-f]{40}$/) }),
]);
export const account = http.Account.extend({ addresses: z.array(address), parent: z.array(address) });
/** The answer of POST /account/v1/parent. */
export const accountWithParents = account.omit({ updatedAt: true });

export const transactionReference = z.object({ id: txId, chainName: some, refUrl: webAddress });
export const credentials = http.Credentials.extend({ accessToken: jwt, refreshToken: jwt });
export const identityToken = http.IdentityToken.extend({ identityToken: jwt });
/** The answer of sign-up, sign-in and finishing an enrollment. */
export const signedIn = http.SignedIn.extend({ account, transaction: transactionReference, credentials });
export const challenge = http.Challenge.extend({ challengeData: Hex.length(32) });

export const app = http.App.extend({ appId: some, appName: some });
export const device = http.Device.extend({ lastUsedAt: Timestamp });
export const session = http.Session.extend({ app, lastUsedAt: Timestamp });

const anyKey = http.Key.extend({
  appId: some,
  chainName: some,
  keyIndex: z.int().min(-1),
  weight: z.int().min(0).max(1000),
});
export const key = z.discriminatedUnion("type", [
  anyKey.extend({
    type: z.literal("user-key"),
    userKey: http.Key.shape.userKey.unwrap().extend({ app, device: device.nullable() }),
    recoverKey: z.null(),
    pending: z.literal(false),
  }),
  anyKey.extend({
    type: z.literal("recover-key"),
    userKey: z.null(),
    recoverKey: http.Key.shape.recoverKey.unwrap().extend({ type: z.literal("cloud") }),
  }),
]);

const twoFactorRequest = http.TwoFactorRequest.extend({
  app,
  srcDevice: device,
  destDevice: device.nullable(),
  message: hex,
});
export const twoFactorAuth = http.TwoFactorAuth.extend({ request: twoFactorRequest });

/** Raw r||s. */
export const signature = http.CompositeSignature.extend({ keyId: z.int().min(0), signature: Hex.length(128) });

export const network = http.Network.extend({
  chainName: some,
  chainType: z.literal("cadence"),
  chainId: z.int().positive(),
  accessNode: webAddress,
  explorerUrl: z.string().regex(/^https?:\/\/.*\{id\}/),
});

export const template = http.Template.extend({
  name: z.string().regex(/^[a-z-]+$/),
  script: z.string().regex(/^transaction(?:\(| )/m),
  parameters: z.array(z.object({ name: some, type: z.enum(["String", "Bool", "Address"]), value: z.string() })),
  gasLimit: z.int().positive(),
});

export const timeLock = http.TimeLock.extend({ operation: some, chainName: some });

export const problem = http.Problem.extend({
  type: z.string().regex(/^urn:countersign:error:[A-Z]\w+$/),
  title: some,
  detail: some,
  instance: z.string().regex(/^[\w.-]{8,64}$/),
  errors: z
    .array(z.object({ pointer: z.string().regex(/^(?:\/[^/]+)*$/), detail: some }))
    .min(1)
    .optional(),
  reason: z
    .string()
    .regex(/^[A-Z]\w+$/)
    .optional(),
  timeLockId: Uuid.optional(),
});

/**
 * Returns the parts of a JSON value that a schema does not allow: wrong members, and members that it does not
 * have, at any depth.
 */
export function undocumented(schema: z.ZodType, value: unknown): unknown[] {
  const { data, error } = schema.safeParse(value);
  if (error) return error.issues;
  // A schema strips the members that it does not have.
  return isDeepStrictEqual(data, value) ? [] : [{ stripped: data, value }];
}

import { z } from "zod";

/*
 * The resources of the HTTP API as clients know them, written down once more and without a look at the gateway: every documented member, nothing else, and each
 * in its format. Members that are ours besides the fixed ones stand in a paragraph of their own.
 */

const PUBLIC_KEY = /^(?:[0-9a-f]{128}|[0-9a-f]{64})$/;

/** ISO 8601 in UTC with milliseconds. */
export const timestamp = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
/** The same, "" where there is none. */
export const timestampOrNone = timestamp.or(z.literal(""));
/** Lower case, no prefix. */
export const hex = z.string().regex(/^(?:[0-9a-f]{2})+$/);
export const uuid = z.string().regex(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
const publicKey = z.string().regex(PUBLIC_KEY);
const algorithm = z.enum(["ES256", "ES256K", "EdDSA"]);
export const txId = z.string().regex(/^[0-9a-f]{64}$/);
const jwt = z.string().regex(/^eyJ[\w-]+\.[\w-]+\.[\w-]+$/);
const webAddress = z.url({ protocol: /^https?$/ });
export const cadenceAddress = z.string().regex(/^0x[0-9a-f]{16}$/);

const onChain = {
  profileImageUrl: webAddress.or(z.literal("")),
  domainName: z.string(),
  chainName: z.string().min(1),
  chainId: z.int().positive(),
};

export const address = z.discriminatedUnion("chainType", [
  z.strictObject({ address: cadenceAddress, chainType: z.literal("cadence"), ...onChain }),
  z.strictObject({ address: z.string().regex(/^0x[0-9a-f]{40}$/), chainType: z.literal("evm"), ...onChain }),
]);

export const account = z.strictObject({
  id: uuid,
  addresses: z.array(address),
  parent: z.array(address),
  createdAt: timestamp,
  updatedAt: timestamp,
});

/** The answer of POST /account/v1/parent. */
export const accountWithParents = account.omit({ updatedAt: true });

export const transactionReference = z.strictObject({ id: txId, chainName: z.string().min(1), refUrl: webAddress });

export const credentials = z.strictObject({ accessToken: jwt, refreshToken: jwt });

/** What sign-up, sign-in and finishing answer. */
export const signedIn = z.strictObject({ account, transaction: transactionReference, credentials });

export const challenge = z.strictObject({ challengeData: z.string().regex(/^[0-9a-f]{32}$/), expiresAt: timestamp });

export const app = z.strictObject({ appId: z.string().min(1), appName: z.string().min(1) });

export const device = z.strictObject({
  id: uuid,
  publicKey,
  sdkVersion: z.string(),
  pushToken: z.string(),
  name: z.string(),
  osName: z.string(),
  osVersion: z.string(),
  deviceManufacturer: z.string(),
  deviceModel: z.string(),
  lang: z.string(),
  type: z.enum(["mobile", "browser", "desktop"]),

  algorithm,
  createdAt: timestamp,
  lastUsedAt: timestamp,
});

/** `device` is null for a key that came onto the chain by another way. */
export const userKey = z.strictObject({
  type: z.enum(["device", "passkey"]),
  device: device.nullable(),
  devicePublicKey: publicKey,
  app,
});

const recoverKey = z.strictObject({
  type: z.literal("cloud"),
  cloudKey: z.strictObject({ accountName: z.string() }),
});

const keyMembers = {
  publicKey,
  accountId: uuid,
  appId: z.string().min(1),
  name: z.string(),
  keyIndex: z.int().min(-1),
  lastUsedAt: timestampOrNone,
  revokedAt: timestampOrNone,

  algorithm,
  chainName: z.string().min(1),
  weight: z.int().min(0).max(1000),
  createdAt: timestamp,
};

export const key = z.discriminatedUnion("type", [
  z.strictObject({
    ...keyMembers,
    type: z.literal("user-key"),
    userKey,
    recoverKey: z.null(),
    pending: z.literal(false),
  }),
  z.strictObject({
    ...keyMembers,
    type: z.literal("recover-key"),
    userKey: z.null(),
    recoverKey,
    pending: z.boolean(),
  }),
]);

export const twoFactorRequest = z.strictObject({
  id: uuid,
  app,
  userOpInfo: z.strictObject({
    type: z.literal("sign-in"),
    signIn: z.strictObject({ email: z.string(), ip: z.string(), location: z.string() }),
  }),
  srcDevice: device,
  destDevice: device.nullable(),
  message: hex,
  requestedAt: timestamp,
});

export const twoFactorAuth = z.strictObject({
  id: uuid,
  accountId: uuid,
  request: twoFactorRequest,
  status: z.enum(["pending", "approved", "rejected", "expired", "finished", "failed"]),
  extra: z.null(),
  result: z.strictObject({ txId: txId.or(z.literal("")) }),
  expiresAt: timestamp,
});

/** What Flow's client library calls a composite signature: raw r||s. */
export const signature = z.strictObject({
  addr: cadenceAddress,
  keyId: z.int().min(0),
  signature: z.string().regex(/^[0-9a-f]{128}$/),
});

export const session = z.strictObject({
  id: uuid,
  app,
  publicKey,
  createdAt: timestamp,
  lastUsedAt: timestamp,
  expiresAt: timestamp,
  current: z.boolean(),
});

/** A chain as a client must know it; `explorerUrl` has a place for a transaction's id. */
export const network = z.strictObject({
  chainName: z.string().min(1),
  chainType: z.literal("cadence"),
  chainId: z.int().positive(),
  accessNode: webAddress,
  paymaster: cadenceAddress,
  explorerUrl: z.string().regex(/^https?:\/\/.*\{id\}/),
});

/** A transaction of the service as data. */
export const template = z.strictObject({
  name: z.string().regex(/^[a-z-]+$/),
  script: z.string().regex(/^transaction(?:\(| )/m),
  parameters: z.array(
    z.strictObject({ name: z.string().min(1), type: z.enum(["String", "Bool", "Address"]), value: z.string() }),
  ),

  gasLimit: z.int().positive(),
});

export const timeLock = z.strictObject({
  id: uuid,
  operation: z.string().min(1),
  chainName: z.string().min(1),
  startedAt: timestamp,
  availableAt: timestamp,
  cancelledAt: timestampOrNone,
});

/** RFC 9457, with the members that this API adds. */
export const problem = z.strictObject({
  type: z.string().regex(/^urn:countersign:error:[A-Z]\w+$/),
  title: z.string().min(1),
  status: z.int(),
  detail: z.string().min(1),
  instance: z.string().regex(/^[\w.-]{8,64}$/),
  error: z.string().regex(/^[A-Z]\w+$/),
  errors: z
    .array(z.strictObject({ pointer: z.string().regex(/^(?:\/[^/]+)*$/), detail: z.string().min(1) }))
    .min(1)
    .optional(),
  reason: z
    .string()
    .regex(/^[A-Z]\w+$/)
    .optional(),
  availableAt: timestamp.optional(),
  timeLockId: uuid.optional(),
});

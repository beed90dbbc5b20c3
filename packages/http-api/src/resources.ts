import { REASONS, type Reason } from "@countersign/core";
import { z } from "zod";
import {
  Algorithm,
  CadenceAddress,
  ChainAddress,
  Hex,
  OptionalTimestamp,
  OptionalTransactionId,
  PublicKeyHex,
  Timestamp,
  Uuid,
} from "./formats.ts";

/*
 * The resources that the HTTP API answers with. Each is written here only: the gateway makes its OpenAPI
 * document from them, the client takes its types from them, the contract tests check real answers with them.
 */

export const Address = z
  .object({
    address: ChainAddress,
    profileImageUrl: z.string(),
    domainName: z.string(),
    chainName: z.string(),
    chainId: z.int(),
    chainType: z.enum(["cadence", "evm"]),
  })
  .meta({ id: "Address" });

export const Account = z
  .object({
    id: Uuid,
    addresses: z.array(Address),
    parent: z.array(Address),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: "Account" });

export const TransactionReference = z
  .object({ id: OptionalTransactionId, chainName: z.string(), refUrl: z.string() })
  .meta({ id: "TransactionReference" });

export const Credentials = z.object({ accessToken: z.string(), refreshToken: z.string() }).meta({ id: "Credentials" });

/** The response of sign-up and sign-in. */
export const SignedIn = z
  .object({
    account: Account,
    /** Its id is "" while no transaction has been submitted. */
    transaction: TransactionReference,
    credentials: Credentials,
  })
  .meta({ id: "SignedIn" });

export const Challenge = z
  .object({
    /** Hex of 16 bytes. */
    challengeData: Hex,
    expiresAt: Timestamp,
  })
  .meta({ id: "Challenge" });

export const App = z.object({ appId: z.string(), appName: z.string() }).meta({ id: "App" });

export const DEVICE_TYPES = ["mobile", "browser", "desktop"] as const;

export const Device = z
  .object({
    id: Uuid,
    publicKey: PublicKeyHex,
    algorithm: Algorithm,
    sdkVersion: z.string(),
    pushToken: z.string(),
    name: z.string(),
    osName: z.string(),
    osVersion: z.string(),
    deviceManufacturer: z.string(),
    deviceModel: z.string(),
    lang: z.string(),
    type: z.enum(DEVICE_TYPES),
    createdAt: Timestamp,
    lastUsedAt: OptionalTimestamp,
  })
  .meta({ id: "Device" });

export const Session = z
  .object({
    id: Uuid,
    app: App,
    /** The identity key of the device that signed in. */
    publicKey: PublicKeyHex,
    createdAt: Timestamp,
    lastUsedAt: OptionalTimestamp,
    expiresAt: Timestamp,
    current: z.boolean(),
  })
  .meta({ id: "Session" });

export const Key = z
  .object({
    publicKey: PublicKeyHex,
    algorithm: Algorithm,
    accountId: Uuid,
    appId: z.string(),
    chainName: z.string(),
    type: z.enum(["user-key", "recover-key"]),
    name: z.string(),
    /** The key's index on chain; -1 while it is pending. */
    keyIndex: z.int(),
    weight: z.int(),
    /** null for a recovery key. */
    userKey: z
      .object({
        type: z.enum(["device", "passkey"]),
        /** null where the device was removed, or the key came onto the chain without one. */
        device: Device.nullable(),
        /** The identity key of the device, also where `device` is null. */
        devicePublicKey: PublicKeyHex,
        app: App,
      })
      .nullable(),
    /** null for a user key. */
    recoverKey: z.object({ type: z.string(), cloudKey: z.object({ accountName: z.string() }) }).nullable(),
    /** true for a recovery key that the chain does not show yet. */
    pending: z.boolean(),
    createdAt: Timestamp,
    lastUsedAt: OptionalTimestamp,
    revokedAt: OptionalTimestamp,
  })
  .meta({ id: "Key" });

/** A time lock: a change of the account's keys that is signed from `availableAt` on. */
export const TimeLock = z
  .object({
    id: Uuid,
    /** The template, such as "add-recovery-key". */
    operation: z.string(),
    chainName: z.string(),
    startedAt: Timestamp,
    availableAt: Timestamp,
    /** "" unless it was cancelled. */
    cancelledAt: OptionalTimestamp,
  })
  .meta({ id: "TimeLock" });

export const TwoFactorRequest = z
  .object({
    /** New whenever `message` is. */
    id: Uuid,
    app: App,
    userOpInfo: z.object({
      type: z.literal("sign-in"),
      signIn: z.object({ email: z.string(), ip: z.string(), location: z.string() }),
    }),
    /** The device that is being enrolled. */
    srcDevice: Device,
    /** The device that is notified; null without one. Any other device of the account may decide as well. */
    destDevice: Device.nullable(),
    /** Hex of the signable payload that adds the key: `readKeyAddition` of the client decodes it. */
    message: Hex,
    requestedAt: Timestamp,
  })
  .meta({ id: "TwoFactorRequest" });

export const TwoFactorStatus = z.enum(["pending", "approved", "rejected", "expired", "finished", "failed"]);

/** A request to enroll a new device. */
export const TwoFactorAuth = z
  .object({
    id: Uuid,
    accountId: Uuid,
    request: TwoFactorRequest,
    status: TwoFactorStatus,
    extra: z.null(),
    /** The transaction that decided; "" until known. */
    result: z.object({ txId: OptionalTransactionId }),
    expiresAt: Timestamp,
  })
  .meta({ id: "TwoFactorAuth" });

/** A pending request, with the token that belongs to it alone. */
export const TwoFactorRequested = z.object({ twoFactorAuth: TwoFactorAuth, ephemeralAccessToken: z.string() });

/** A composite signature, in the shape of Flow's client library. */
export const CompositeSignature = z
  .object({
    addr: CadenceAddress,
    keyId: z.int(),
    /** Raw r||s. */
    signature: Hex,
  })
  .meta({ id: "CompositeSignature" });

/** A chain that accounts can be on, with what a client needs to use it. */
export const Network = z
  .object({
    chainName: z.string(),
    chainType: z.string(),
    chainId: z.int(),
    accessNode: z.string(),
    paymaster: CadenceAddress,
    /** Has `{id}` in the place of a transaction's id. */
    explorerUrl: z.string(),
  })
  .meta({ id: "Network" });

/** A transaction template that the signer signs. */
export const Template = z
  .object({
    name: z.string(),
    script: z.string(),
    parameters: z.array(z.object({ name: z.string(), type: z.string(), value: z.string() })),
    gasLimit: z.int(),
  })
  .meta({ id: "Template" });

/** A rotation of the account's server key that needs a device's signature. */
export const ServerKeyRotation = z
  .object({
    chainName: z.string(),
    /** Hex of the payload to sign: domain tag and RLP. */
    message: Hex,
  })
  .meta({ id: "ServerKeyRotation" });

/** RFC 9457, with the members that this API adds. */
export const Problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    /** The request id. */
    instance: z.string(),
    /** The stable code. */
    error: z.enum(Object.keys(REASONS) as [Reason, ...Reason[]]),
    errors: z.array(z.object({ pointer: z.string(), detail: z.string() })).optional(),
    /** For SigningRefused: the rule that refused. */
    reason: z.string().optional(),
    /** For a time lock: when the same request will be granted. */
    availableAt: Timestamp.optional(),
    /** For a time lock: the id to cancel it by. */
    timeLockId: z.string().optional(),
  })
  .meta({ id: "Problem" });

export type Address = z.infer<typeof Address>;
export type Account = z.infer<typeof Account>;
export type TransactionReference = z.infer<typeof TransactionReference>;
export type Credentials = z.infer<typeof Credentials>;
export type SignedIn = z.infer<typeof SignedIn>;
export type Challenge = z.infer<typeof Challenge>;
export type App = z.infer<typeof App>;
export type Device = z.infer<typeof Device>;
export type Session = z.infer<typeof Session>;
export type Key = z.infer<typeof Key>;
export type TimeLock = z.infer<typeof TimeLock>;
export type TwoFactorRequest = z.infer<typeof TwoFactorRequest>;
export type TwoFactorStatus = z.infer<typeof TwoFactorStatus>;
export type TwoFactorAuth = z.infer<typeof TwoFactorAuth>;
export type TwoFactorRequested = z.infer<typeof TwoFactorRequested>;
export type CompositeSignature = z.infer<typeof CompositeSignature>;
export type Network = z.infer<typeof Network>;
export type Template = z.infer<typeof Template>;
export type ServerKeyRotation = z.infer<typeof ServerKeyRotation>;
export type Problem = z.infer<typeof Problem>;

import { REASONS, type Reason } from "@countersign/core";
import { z } from "zod";
import {
  Algorithm,
  CadenceAddress,
  ChainAddress,
  ChainName,
  described,
  Hex,
  OptionalTimestamp,
  OptionalTransactionId,
  openEnumeration,
  PublicKeyHex,
  Timestamp,
  text,
  Uuid,
} from "./formats.ts";

/*
 * The resources that the HTTP API answers with. Each is written here only: the gateway makes its OpenAPI
 * document from them, the client takes its types from them, the contract tests check real answers with them.
 */

export const Address = z
  .object({
    address: ChainAddress.meta({ description: "16 hex digits for Cadence, 40 for EVM, with `0x`." }),
    profileImageUrl: described('The picture that the identity provider knows; "" for none.', ""),
    domainName: described('A name of the chain\'s name service; "" for none.', "ada.find"),
    chainName: ChainName,
    chainId: z.int().meta({
      description: "The network's EVM chain id, for both addresses: 747 mainnet, 545 testnet, 646 emulator.",
      format: "int64",
      examples: [646],
    }),
    chainType: z.enum(["cadence", "evm"]).meta({
      description: "The virtual machine that the address belongs to.",
      examples: ["cadence"],
      override: openEnumeration,
    }),
  })
  .meta({ id: "Address", description: "An address of an account: each account has two on every network." });

const createdAt = Timestamp.meta({ description: "The time of creation." });
const lastUsedAt = OptionalTimestamp.meta({ description: 'The time of the last use; "" for none so far.' });

export const Account = z
  .object({
    id: Uuid.meta({ description: "The account's id." }),
    addresses: z.array(Address).meta({ description: "Empty until the chain has executed the deployment." }),
    parent: z.array(Address).meta({ description: "The accounts that the chain shows as this one's parents." }),
    createdAt,
    updatedAt: Timestamp.meta({ description: "The time of the last change. The answer of `linkParent` has none." }),
  })
  .meta({
    id: "Account",
    description: "A person's account: multi-key, on one or more networks.",
    // One class in generated clients, with and without the time.
    override: ({ jsonSchema }: { jsonSchema: Record<string, unknown> }) => {
      jsonSchema.required = ["id", "addresses", "parent", "createdAt"];
    },
  });

export const TransactionReference = z
  .object({
    id: OptionalTransactionId.meta({ description: 'The transaction\'s id; "" while none has been submitted.' }),
    chainName: ChainName,
    refUrl: described("A page that shows the transaction.", "https://explorer.example/tx/21c86909067d9056"),
  })
  .meta({ id: "TransactionReference", description: "A transaction on chain, with a page that a person can open." });

const EXAMPLE_JWT = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIwMTlhIn0.c2lnbmF0dXJl";

export const Credentials = z
  .object({
    accessToken: described("A JWT for the Authorization header; lives 15 minutes.", EXAMPLE_JWT),
    refreshToken: described("A JWT for `refreshToken`, once; lives 30 days.", EXAMPLE_JWT),
  })
  .meta({ id: "Credentials", description: "The pair of tokens of a session." });

/** The response of sign-up and sign-in. */
export const SignedIn = z
  .object({
    account: Account.meta({ description: "The account that the session belongs to." }),
    transaction: TransactionReference.meta({
      description: "The deployment of the account, or the transaction that added this device's key.",
    }),
    credentials: Credentials.meta({ description: "The tokens of the new session." }),
  })
  .meta({ id: "SignedIn", description: "A new session with its account." });

export const Challenge = z
  .object({
    challengeData: Hex.meta({
      description: "Hex of the 16 bytes that the device signs.",
      examples: ["000102030405060708090a0b0c0d0e0f"],
    }),
    expiresAt: Timestamp.meta({ description: "Five minutes after issue." }),
  })
  .meta({ id: "Challenge", description: "A challenge that one answer may use, once." });

export const App = z
  .object({
    appId: described("The client id at the identity provider.", "demo"),
    appName: described("The app's name, as registered.", "Demo wallet"),
  })
  .meta({ id: "App", description: "The client application: the login token's audience decides." });

export const DEVICE_TYPES = ["mobile", "browser", "desktop"] as const;

export const DeviceType = z.enum(DEVICE_TYPES).meta({
  id: "DeviceType",
  description: "The kind of a device.",
  examples: ["mobile"],
});

export const Device = z
  .object({
    id: Uuid.meta({ description: "The device's id." }),
    publicKey: PublicKeyHex.meta({ description: "The identity key of the device." }),
    algorithm: Algorithm,
    sdkVersion: described("The version of the client library.", "0.1.0"),
    pushToken: described("The push registration; changes when the operating system changes it.", "push-registration"),
    name: described("The name that the person sees.", "Ada's phone"),
    osName: described("The operating system.", "Android"),
    osVersion: described("The operating system's version.", "16"),
    deviceManufacturer: described("The maker of the device.", "Google"),
    deviceModel: described("The model of the device.", "Pixel 9"),
    lang: described("The language of the device (BCP 47).", "en-GB"),
    type: DeviceType,
    createdAt,
    lastUsedAt,
  })
  .meta({ id: "Device", description: "A registered device. Texts that it has not stated are empty." });

export const Session = z
  .object({
    id: Uuid.meta({ description: "The session's id." }),
    app: App,
    publicKey: PublicKeyHex.meta({ description: "The identity key of the device that signed in." }),
    createdAt,
    lastUsedAt,
    expiresAt: Timestamp.meta({ description: "The end of the session unless it is refreshed." }),
    current: z.boolean().meta({ description: "Whether this is the caller's own session.", examples: [true] }),
  })
  .meta({ id: "Session", description: "A live session of the account." });

export const UserKeyType = z.enum(["device", "passkey"]).meta({
  id: "UserKeyType",
  description: "A key of a device's own key store, or a passkey.",
  examples: ["device"],
});

export const UserKey = z
  .object({
    type: UserKeyType,
    device: Device.nullable().meta({
      description: "null where the device was removed, or the key came onto the chain without one.",
    }),
    devicePublicKey: PublicKeyHex.meta({ description: "The identity key of the device, also where `device` is null." }),
    app: App,
  })
  .meta({ id: "UserKey", description: "The device that a user key belongs to." });

export const CloudKey = z
  .object({
    accountName: text().meta({
      description: "The cloud account that keeps the key.",
      examples: ["ada@cloud.example"],
    }),
  })
  .meta({ id: "CloudKey", description: "The place that keeps a recovery key." });

export const RecoveryKey = z
  .object({ type: described("The kind of place that keeps the key: `cloud`.", "cloud"), cloudKey: CloudKey })
  .meta({ id: "RecoveryKey", description: "The place that keeps a recovery key, by kind." });

export const Key = z
  .object({
    publicKey: PublicKeyHex.meta({ description: "The key that is on chain." }),
    algorithm: Algorithm,
    accountId: Uuid.meta({ description: "The account's id." }),
    appId: described("The app that registered the key.", "demo"),
    chainName: ChainName,
    type: z.enum(["user-key", "recover-key"]).meta({
      description: "A key of a device, or the account's recovery key.",
      examples: ["user-key"],
      override: openEnumeration,
    }),
    name: described("The name that the person sees.", "Ada's phone"),
    keyIndex: z.int32().meta({ description: "The key's index on chain; -1 while it is pending.", examples: [1] }),
    weight: z.int32().meta({ description: "The key's weight on chain; 1000 sign a transaction.", examples: [1] }),
    userKey: UserKey.nullable().meta({ description: "null for a recovery key." }),
    recoverKey: RecoveryKey.nullable().meta({ description: "null for a user key." }),
    pending: z
      .boolean()
      .meta({ description: "true for a recovery key that the chain does not show yet.", examples: [false] }),
    createdAt,
    lastUsedAt,
    revokedAt: OptionalTimestamp.meta({ description: 'The time of the revocation; "" for an active key.' }),
  })
  .meta({ id: "Key", description: "A key of the account. The chain decides about index, weight and revocation." });

/** A time lock: a change of the account's keys that is signed from `availableAt` on. */
export const TimeLock = z
  .object({
    id: Uuid.meta({ description: "The id to cancel it by." }),
    operation: described("The template of the change.", "add-recovery-key"),
    chainName: ChainName,
    startedAt: Timestamp.meta({ description: "The first request for the change." }),
    availableAt: Timestamp.meta({ description: "The same request is granted from here on." }),
    cancelledAt: OptionalTimestamp.meta({ description: '"" unless it was cancelled.' }),
  })
  .meta({ id: "TimeLock", description: "A change of the account's keys that waits." });

export const SignInFacts = z
  .object({
    email: described("The address that the identity provider gave.", "ada@example.com"),
    ip: described("The address that the request came from.", "192.0.2.7"),
    location: described('"City, Country", "Country", or "" for unknown.', "Vienna, Austria"),
  })
  .meta({ id: "SignInFacts", description: "Facts by which a person recognizes a request." });

export const UserOperation = z
  .object({
    type: z.enum(["sign-in"]).meta({
      description: "The kind of operation.",
      examples: ["sign-in"],
      override: openEnumeration,
    }),
    signIn: SignInFacts,
  })
  .meta({ id: "UserOperation", description: "The operation that waits for approval." });

export const TwoFactorRequest = z
  .object({
    id: Uuid.meta({ description: "New whenever `message` is." }),
    app: App,
    userOpInfo: UserOperation,
    srcDevice: Device.meta({ description: "The device that is being enrolled." }),
    destDevice: Device.nullable().meta({
      description: "The device that is notified; null without one. Any other device of the account may decide too.",
    }),
    message: Hex.meta({
      description: "Hex of the signable payload that adds the key: domain tag and RLP of the transaction.",
    }),
    requestedAt: Timestamp.meta({ description: "The time of the request." }),
  })
  .meta({ id: "TwoFactorRequest", description: "The content of a request to enroll a new device." });

export const TwoFactorStatus = z.enum(["pending", "approved", "rejected", "expired", "finished", "failed"]).meta({
  id: "TwoFactorStatus",
  description:
    "`pending` until it is decided or its five minutes end; `approved` until the new device has its session; " +
    "`failed` where the chain refused the approved transaction.",
  examples: ["pending"],
});

export const TwoFactorResult = z
  .object({
    txId: OptionalTransactionId.meta({ description: 'The transaction that added the key; "" until known.' }),
  })
  .meta({ id: "TwoFactorResult", description: "The outcome of an approval." });

/** A request to enroll a new device. */
export const TwoFactorAuth = z
  .object({
    id: Uuid.meta({ description: "Never changes; `request.id` does." }),
    accountId: Uuid.meta({ description: "The account's id." }),
    request: TwoFactorRequest,
    status: TwoFactorStatus,
    extra: z.null().meta({
      description: "Reserved; null so far.",
      examples: [null],
      // Generators know no type of null alone.
      override: ({ jsonSchema }: { jsonSchema: Record<string, unknown> }) => void delete jsonSchema.type,
    }),
    result: TwoFactorResult,
    expiresAt: Timestamp.meta({ description: "Five minutes after the request was created." }),
  })
  .meta({ id: "TwoFactorAuth", description: "A request to enroll a new device, with its state." });

/** A pending request, with the token that belongs to it alone. */
export const TwoFactorRequested = z
  .object({
    twoFactorAuth: TwoFactorAuth,
    ephemeralAccessToken: described(
      "A JWT that finishes this request and opens the signing operations; lives five minutes.",
      EXAMPLE_JWT,
    ),
  })
  .meta({ id: "TwoFactorRequested", description: "A pending request, with the token that belongs to it alone." });

/** A composite signature, in the shape of Flow's client library. */
export const CompositeSignature = z
  .object({
    addr: CadenceAddress.meta({ description: "The signing account." }),
    keyId: z.int32().meta({ description: "The index of the signing key on chain.", examples: [0] }),
    signature: Hex.meta({ description: "Hex of raw r||s.", examples: ["ab".repeat(64)] }),
  })
  .meta({ id: "Signature", description: "A composite signature, in the shape of Flow's client library." });

/** A chain that accounts can be on, with what a client needs to use it. */
export const Network = z
  .object({
    chainName: ChainName,
    chainType: described("The virtual machine of its transactions: `cadence`.", "cadence"),
    chainId: z.int().meta({ description: "The EVM chain id.", format: "int64", examples: [646] }),
    accessNode: described("The base URL of the Access API (REST).", "https://rest-testnet.onflow.org"),
    paymaster: CadenceAddress.meta({ description: "The payer of sponsored transactions." }),
    explorerUrl: described("Has `{id}` in the place of a transaction's id.", "https://explorer.example/tx/{id}"),
  })
  .meta({ id: "Network", description: "A chain that accounts can be on, with the facts that a client needs." });

export const TemplateParameter = z
  .object({
    name: described("The parameter's name in the script.", "recoveryKey"),
    type: described("Its Cadence type.", "String"),
    value: described('The only value that the signer accepts; "" for any.', ""),
  })
  .meta({ id: "TemplateParameter", description: "A parameter of a template." });

/** A transaction template that the signer signs. */
export const Template = z
  .object({
    name: described("The template's name.", "add-recovery-key"),
    script: described("The script, to the byte.", "transaction(serverKey: String) {}"),
    parameters: z.array(TemplateParameter).meta({ description: "The script's parameters, in order." }),
    gasLimit: z.int().meta({ description: "The transaction's gas limit.", format: "int64", examples: [9999] }),
  })
  .meta({ id: "Template", description: "A transaction template that the signer signs." });

/** A rotation of the account's server key that needs a device's signature. */
export const ServerKeyRotation = z
  .object({
    chainName: ChainName,
    message: Hex.meta({ description: "Hex of the payload to sign: domain tag and RLP." }),
  })
  .meta({ id: "ServerKeyRotation", description: "A rotation of the server key that needs a device's signature." });

export const FieldProblem = z
  .object({
    pointer: described("A JSON pointer into the body, or a parameter's name after a slash.", "/userKey/publicKey"),
    detail: described("What is wrong with it.", "Required"),
  })
  .meta({ id: "FieldProblem", description: "One member of the request that was refused." });

/** Every code, for the documents. */
const CODES = Object.keys(REASONS) as [Reason, ...Reason[]];

/** RFC 9457, with the members that this API adds. */
export const Problem = z
  .object({
    type: described("`urn:countersign:error:` and the code.", "urn:countersign:error:InvalidRequest"),
    title: described("The code in words.", REASONS.InvalidRequest.title),
    status: z
      .int32()
      .min(400)
      .max(599)
      .meta({ description: "The HTTP status.", examples: [400] }),
    detail: described("What happened, for a developer.", "Some fields are not valid"),
    instance: described("The request id.", "0f8fad5b-d9cb-469f-a165-70867728950e"),
    error: z.enum(CODES).meta({
      description:
        "The stable code. The list is open: a newer gateway may answer a code that is not in it, so treat an " +
        "unknown one as its status.",
      examples: ["InvalidRequest"],
      override: openEnumeration,
    }),
    errors: z
      .array(FieldProblem)
      .optional()
      .meta({ description: "The members that were refused, where they are known." }),
    reason: described("For SigningRefused: the rule that refused.", "UnknownScript").optional(),
    availableAt: Timestamp.optional().meta({
      description: "For a time lock: the same request is granted from here on.",
    }),
    timeLockId: described(
      "For a time lock: the id to cancel it by.",
      "019a0000-0000-7000-8000-000000000001",
    ).optional(),
  })
  .meta({ id: "Problem", description: "RFC 9457, with the members that this API adds." });

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

import { z } from "zod";
import {
  described,
  EXAMPLE_JWT,
  Hex,
  OptionalTransactionId,
  open,
  openEnum,
  resource,
  Timestamp,
  Uuid,
} from "../formats.ts";
import { Device } from "./device.ts";
import { App } from "./session.ts";

export const SignInFacts = resource("SignInFacts", "Facts by which a person recognizes a request.", {
  email: described("The address that the identity provider gave.", "ada@example.com"),
  ip: described("The address that the request came from.", "192.0.2.7"),
  location: described('"City, Country", "Country", or "" for unknown.', "Vienna, Austria"),
});

export const UserOperation = resource("UserOperation", "The operation that waits for approval.", {
  type: openEnum(["sign-in"], "The kind of operation."),
  signIn: SignInFacts,
});

export const TwoFactorRequest = resource("TwoFactorRequest", "The content of a request to enroll a new device.", {
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
});
export type TwoFactorRequest = z.infer<typeof TwoFactorRequest>;

export const TwoFactorStatus = z.enum(["pending", "approved", "rejected", "expired", "finished", "failed"]).meta({
  description:
    "`pending` until it is decided or its five minutes end; `approved` until the new device has its session; " +
    "`failed` where the chain refused the approved transaction.",
  examples: ["pending"],
});
export type TwoFactorStatus = z.infer<typeof TwoFactorStatus>;

export const TwoFactorResult = resource("TwoFactorResult", "The outcome of an approval.", {
  txId: OptionalTransactionId.meta({ description: 'The transaction that added the key; "" until known.' }),
});

export const TwoFactorAuth = resource("TwoFactorAuth", "A request to enroll a new device, with its state.", {
  id: Uuid.meta({ description: "Never changes; `request.id` does." }),
  accountId: Uuid.meta({ description: "The account's id." }),
  request: TwoFactorRequest,
  status: open(TwoFactorStatus),
  extra: z.null().meta({
    description: "Reserved; null so far.",
    examples: [null],
    // Generators know no type of null alone.
    override: ({ jsonSchema }: { jsonSchema: Record<string, unknown> }) => void delete jsonSchema.type,
  }),
  result: TwoFactorResult,
  expiresAt: Timestamp.meta({ description: "Five minutes after the request was created." }),
});
export type TwoFactorAuth = z.infer<typeof TwoFactorAuth>;

export const TwoFactorRequested = resource(
  "TwoFactorRequested",
  "A pending request, with the token that belongs to it alone.",
  {
    twoFactorAuth: TwoFactorAuth,
    ephemeralAccessToken: described(
      "A JWT that finishes this request and opens the signing operations; lives five minutes.",
      EXAMPLE_JWT,
    ),
  },
);
export type TwoFactorRequested = z.infer<typeof TwoFactorRequested>;

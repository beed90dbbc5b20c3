import { z } from "zod";
import {
  createdAt,
  described,
  EXAMPLE_JWT,
  Hex,
  lastUsedAt,
  PublicKeyHex,
  resource,
  Timestamp,
  Uuid,
} from "../formats.ts";
import { Account, TransactionReference } from "./account.ts";

export const Credentials = resource("Credentials", "The pair of tokens of a session.", {
  accessToken: described("A JWT for the Authorization header; lives 15 minutes.", EXAMPLE_JWT),
  refreshToken: described("A JWT for `refreshToken`, once; lives 30 days.", EXAMPLE_JWT),
});
export type Credentials = z.infer<typeof Credentials>;

export const SignedIn = resource("SignedIn", "A new session with its account.", {
  account: Account.meta({ description: "The account that the session belongs to." }),
  transaction: TransactionReference.meta({
    description: "The deployment of the account, or the transaction that added this device's key.",
  }),
  credentials: Credentials.meta({ description: "The tokens of the new session." }),
});
export type SignedIn = z.infer<typeof SignedIn>;

export const Challenge = resource("Challenge", "A challenge that one answer may use, once.", {
  challengeData: Hex.meta({
    description: "Hex of the 16 bytes that the device signs.",
    examples: ["000102030405060708090a0b0c0d0e0f"],
  }),
  expiresAt: Timestamp.meta({ description: "Five minutes after issue." }),
});
export type Challenge = z.infer<typeof Challenge>;

export const App = resource("App", "The client application: the login token's audience decides.", {
  appId: described("The client id at the identity provider.", "demo"),
  appName: described("The app's name, as registered.", "Demo wallet"),
});
export type App = z.infer<typeof App>;

export const Session = resource("Session", "A live session of the account.", {
  id: Uuid.meta({ description: "The session's id." }),
  app: App,
  publicKey: PublicKeyHex.meta({ description: "The identity key of the device that signed in." }),
  createdAt,
  lastUsedAt,
  expiresAt: Timestamp.meta({ description: "The end of the session unless it is refreshed." }),
  current: z.boolean().meta({ description: "Whether this is the caller's own session.", examples: [true] }),
});
export type Session = z.infer<typeof Session>;

export const IdentityToken = resource("IdentityToken", "A token that shows the app's backend who calls.", {
  identityToken: described("A JWT of type `identity+jwt`; its audience is the session's app.", EXAMPLE_JWT),
  expiresAt: Timestamp.meta({ description: "Five minutes after its issue." }),
});
export type IdentityToken = z.infer<typeof IdentityToken>;

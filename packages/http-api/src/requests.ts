import { PUBLIC_KEY_LENGTHS } from "@countersign/keys";
import { z } from "zod";
import { Algorithm, asText, EXAMPLE_PUBLIC_KEY, resource, text } from "./formats.ts";
import { DeviceType, UserKeyType } from "./resources.ts";

/*
 * The parts of request bodies that several operations share. The client takes its types from them, the
 * gateway its validation and its OpenAPI document.
 */

/** Accepts the same as `text`, but not "". */
export const requiredText = (max = 256, tooLong?: string) =>
  text(max, tooLong)
    .refine((value) => value !== "", "Too small: expected string to have >=1 characters")
    .meta({ minLength: 1 });

/** Accepts the same as `text`, but may be absent; absent is "". */
export const optionalText = (max = 256) => text(max).default("");

/** A public key as hex, in any of the accepted lengths; the gateway's `fromPublicKey` parses it. */
export const PublicKeyInput = requiredText(256, `Too long: a public key is ${PUBLIC_KEY_LENGTHS}`).meta({
  description: `A public key: ${PUBLIC_KEY_LENGTHS}. Anything else is \`InvalidPublicKey\`.`,
  examples: [EXAMPLE_PUBLIC_KEY],
});

export const LoginMethod = z.enum(["id_token_channel", "redirect_code_channel"]).meta({
  id: "LoginMethod",
  description:
    "`id_token_channel`: `token` is the provider's ID token or access token. `redirect_code_channel`: it is the " +
    "code of the redirect.",
  examples: ["id_token_channel"],
});

const EXAMPLE_LOGIN_TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl";
const token = "The login token: an ID token or an access token of the provider, or the code of the redirect.";
const loginText = (max: number, description: string, example: string) =>
  optionalText(max).meta({ description, examples: [example] });

/** A login at an identity provider. */
export const Login = z
  .object({
    method: LoginMethod,
    token: requiredText(16_384).meta({ description: token, examples: [EXAMPLE_LOGIN_TOKEN] }),
    provider: loginText(256, "A configured provider's name; needed where several could be meant.", "dev"),
    redirectUri: loginText(2_048, "With a code: the redirect URI of the login.", "http://localhost:8080/callback"),
    codeVerifier: loginText(128, "With a code: the verifier of PKCE.", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
    nonce: loginText(
      256,
      "The nonce of the login; must be the token's.",
      "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU",
    ),
  })
  .meta({ description: "A login at an identity provider." });

/** A login where AUTH_REQUIRE_LOGIN_TOKEN is false, in development. */
export const OptionalLogin = Login.extend({
  method: LoginMethod.optional(),
  token: optionalText(16_384).meta({ description: token, examples: [EXAMPLE_LOGIN_TOKEN] }),
});

/** The chain of a request. */
export const ChainNameInput = requiredText(64).meta({
  description: "A configured chain's name; any other is `UnknownChain`.",
  examples: ["flow-emulator"],
});

const onChain = "A login at an identity provider, for a chain.";

export const LoginOnChain = Login.extend({ chainName: ChainNameInput }).meta({
  id: "LoginOnChain",
  description: onChain,
});

export const OptionalLoginOnChain = OptionalLogin.extend({ chainName: ChainNameInput }).meta({
  id: "OptionalLoginOnChain",
  description: onChain,
});

/** The members of a device by which it describes itself. */
const attributes = {
  sdkVersion: text().meta({ description: "The version of the client library.", examples: ["0.1.0"] }),
  pushToken: text(4_096).meta({ description: "The push registration.", examples: ["push-registration"] }),
  name: text().meta({ description: "The name that the person sees.", examples: ["Ada's phone"] }),
  osName: text().meta({ description: "The operating system.", examples: ["Android"] }),
  osVersion: text().meta({ description: "The operating system's version.", examples: ["16"] }),
  deviceManufacturer: text().meta({ description: "The maker of the device.", examples: ["Google"] }),
  deviceModel: text().meta({ description: "The model of the device.", examples: ["Pixel 9"] }),
  lang: text().meta({ description: "The language of the device (BCP 47).", examples: ["en-GB"] }),
};

/** The description that a device gives of itself when its key is registered. */
export const DeviceAttributes = z
  .object({
    pushToken: attributes.pushToken.default(""),
    name: attributes.name.default(""),
    osName: attributes.osName.default(""),
    osVersion: attributes.osVersion.default(""),
    deviceManufacturer: attributes.deviceManufacturer.default(""),
    deviceModel: attributes.deviceModel.default(""),
    lang: attributes.lang.default(""),
    type: asText(DeviceType).default("mobile"),
    sdkVersion: attributes.sdkVersion.default(""),
  })
  .meta({ description: "The description that a device gives of itself when its key is registered." });

export const NewDevice = DeviceAttributes.extend({
  publicKey: optionalText().meta({
    description: 'The identity key of the device; absent or "" for the account key.',
    examples: [EXAMPLE_PUBLIC_KEY],
  }),
  algorithm: Algorithm.optional(),
}).meta({ id: "NewDevice", description: "The description that a device gives of itself, without control characters." });

/** The user key of a device. A member `app` of it is ignored: the login token's audience decides. */
export const UserKeyInput = resource("NewUserKey", "The account key of a new device, with the device.", {
  type: asText(UserKeyType),
  publicKey: PublicKeyInput.meta({ description: `The account key: ${PUBLIC_KEY_LENGTHS}.` }),
  algorithm: Algorithm.optional(),
  device: NewDevice,
});

const AttestationType = z.enum(["app-attest", "play-integrity"]).meta({
  description:
    "Of an app that must attest itself, the platform: `app-attest` is Apple's App Attest, `play-integrity` a classic " +
    "request of Google's Play Integrity.",
  examples: ["app-attest"],
});

/**
 * The members of an app's attestation (docs/attestation.md). They are no object of their own, because
 * generated clients have a file for each.
 */
export const attestation = {
  attestationType: asText(AttestationType).optional(),
  attestationKeyId: optionalText().meta({
    description: "The id of the attested key in base64, of App Attest.",
    examples: ["zgSY9YSD+7TaDXssY6WlOPVS1K3Lmk+pFhlcSWE+ZV0="],
  }),
  attestationToken: optionalText(16_384).meta({
    description: "The attestation object in base64, or the integrity token.",
    examples: ["o2NmbXRvYXBwbGUtYXBwYXR0ZXN0"],
  }),
};

/** The changes of a device; absent members stay as they are. */
export const DeviceChange = z
  .object({
    id: text().meta({
      description: "May only repeat the device's own id.",
      examples: ["019a0000-0000-7000-8000-000000000001"],
    }),
    ...attributes,
  })
  .partial()
  .meta({ id: "DeviceChange", description: "The changes of a device; absent members stay as they are." });

export type Login = z.input<typeof Login>;
export type DeviceAttributes = z.input<typeof DeviceAttributes>;
export type UserKeyInput = z.input<typeof UserKeyInput>;
export type DeviceChange = z.input<typeof DeviceChange>;

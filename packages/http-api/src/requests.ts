import { PUBLIC_KEY_LENGTHS } from "@countersign/keys";
import { z } from "zod";
import { Algorithm } from "./formats.ts";
import { DEVICE_TYPES } from "./resources.ts";

/*
 * The parts of request bodies that several operations share. The client takes its types from them, the
 * gateway its validation and its OpenAPI document.
 */

/**
 * Accepts a string of at most `max` UTF-16 units. NUL and lone surrogates are rejected, because neither
 * protobuf nor Postgres stores them unchanged.
 */
export const text = (max = 256, tooLong?: string) =>
  z
    .string()
    .max(max, tooLong)
    .refine((value) => value.isWellFormed() && !value.includes("\0"), "Contains NUL or half of a surrogate pair");

/** Accepts the same as `text`, but not "". */
export const requiredText = (max = 256) => text(max).min(1);

/** Accepts a string that may be absent; absent is "". */
export const optionalText = (max = 256) => text(max).default("");

/** A public key as hex, in any of the accepted lengths; the gateway's `fromPublicKey` parses it. */
export const PublicKeyInput = text(256, `Too long: a public key is ${PUBLIC_KEY_LENGTHS}`).min(1);

export const LoginMethod = z.enum(["id_token_channel", "redirect_code_channel"]);

/** A login at an identity provider. */
export const Login = z.object({
  method: LoginMethod,
  /** The ID token or an access token of the provider, or the code of the redirect. */
  token: requiredText(16_384),
  provider: optionalText(),
  redirectUri: optionalText(2_048),
  codeVerifier: optionalText(128),
  nonce: optionalText(),
});

/** A login where AUTH_REQUIRE_LOGIN_TOKEN is false, in development. */
export const OptionalLogin = Login.extend({ method: LoginMethod.optional(), token: optionalText(16_384) });

/** The description that a device gives of itself when its key is registered. */
export const DeviceAttributes = z.object({
  pushToken: optionalText(4_096),
  name: optionalText(),
  osName: optionalText(),
  osVersion: optionalText(),
  deviceManufacturer: optionalText(),
  deviceModel: optionalText(),
  lang: optionalText(),
  type: z.enum(DEVICE_TYPES).default("mobile"),
  sdkVersion: optionalText(),
});

/** The user key of a device. A member `app` of it is ignored: the login token's audience decides. */
export const UserKeyInput = z.object({
  type: z.enum(["device", "passkey"]),
  publicKey: PublicKeyInput,
  algorithm: Algorithm.optional(),
  device: DeviceAttributes.extend({
    /** The identity key of the device; absent or "" for the account key. */
    publicKey: optionalText(),
    algorithm: Algorithm.optional(),
  }),
});

/** The changes of a device; absent members stay as they are. */
export const DeviceChange = z.object({
  /** May only repeat the device's own id. */
  id: text().optional(),
  sdkVersion: text().optional(),
  pushToken: text(4_096).optional(),
  name: text().optional(),
  osName: text().optional(),
  osVersion: text().optional(),
  deviceManufacturer: text().optional(),
  deviceModel: text().optional(),
  lang: text().optional(),
});

export type Login = z.input<typeof Login>;
export type DeviceAttributes = z.input<typeof DeviceAttributes>;
export type UserKeyInput = z.input<typeof UserKeyInput>;
export type DeviceChange = z.input<typeof DeviceChange>;

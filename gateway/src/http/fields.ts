import { requiredText } from "@countersign/http-api/requests.ts";
import { z } from "zod";

/** The largest repetition that regular expressions of all languages count. */
const MAX_COUNTED = 512;

/**
 * Accepts hex of `minBytes` to `maxBytes` bytes, in either case, with or without 0x; returns the bytes.
 * `description` and `example` are for the document.
 */
export const hexBytes = (maxBytes: number, description: string, example: string, minBytes = 1) => {
  const count = maxBytes <= MAX_COUNTED ? `{${minBytes},${maxBytes}}` : "+";
  return z
    .string()
    .max(2 + maxBytes * 2)
    .regex(new RegExp(`^(?:0[xX])?(?:[0-9a-fA-F]{2})${count}$`), `Expected hex of ${minBytes} to ${maxBytes} bytes`)
    .meta({
      description,
      examples: [example],
      // Without a count in the pattern, a length that holds with and without the prefix.
      override: ({ jsonSchema }) => {
        if (maxBytes > MAX_COUNTED) jsonSchema.maxLength = maxBytes * 2;
      },
    })
    .transform((value, context) => {
      const bytes = Buffer.from(/^0x/i.test(value) ? value.slice(2) : value, "hex");
      if (bytes.length > maxBytes) context.addIssue(`Expected at most ${maxBytes} bytes`);
      return bytes;
    });
};

/** A passkey's part of a signature in its form on chain; no bytes where it is absent. */
export const extensionData = hexBytes(
  4_096,
  "Accompanies a passkey's signature, in its form on chain (FLIP 264).",
  "01f8",
)
  .optional()
  .transform((bytes) => bytes ?? Buffer.alloc(0));

/** Accepts base64 or base64url of at most `maxLength` characters; returns the bytes. */
export const base64Bytes = (maxLength: number, description: string) =>
  z
    .string()
    .min(1)
    .max(maxLength)
    .regex(/^[A-Za-z0-9+/_-]+={0,2}$/, "Expected base64")
    .meta({ description, examples: ["SZYN5YgOjGh0NBcPZHZgW4_krrmihjLHmVzzuoMdl2M="] })
    .transform((value) => Buffer.from(value.replaceAll("-", "+").replaceAll("_", "/"), "base64"));

/**
 * Accepts a passkey's clientDataJSON as JSON text or base64(url); returns the bytes of the JSON. JSON begins
 * with a character that base64 does not have, and Node decodes both alphabets.
 */
export const clientDataJson = (maxLength = 8_192) =>
  requiredText(maxLength)
    .meta({
      description: "The passkey's `clientDataJSON`, as JSON text or base64(url).",
      examples: ["eyJ0eXBlIjoid2ViYXV0aG4uZ2V0In0"],
    })
    .transform((value) => (value.trimStart().startsWith("{") ? Buffer.from(value) : Buffer.from(value, "base64")));

/** A device key's or a passkey's signature over bytes that the service has given. */
export const keySignature = z
  .object({
    signature: hexBytes(
      72,
      "The signature over `message`, or over the challenge's bytes: raw r||s or DER.",
      "ab".repeat(64),
    ),
    clientDataJSON: clientDataJson(4_096).optional(),
    authenticatorData: base64Bytes(4_096, "The passkey's authenticator data.").optional(),
  })
  .meta({
    id: "KeySignature",
    description: "The signature of a device's key; a passkey's comes with both of its other members.",
    dependentRequired: { clientDataJSON: ["authenticatorData"], authenticatorData: ["clientDataJSON"] },
  });

/** Accepts a UUID of any version; returns it in lower case. */
export const uuid = (description: string) =>
  z
    .uuid()
    .meta({ description, examples: ["019a0000-0000-7000-8000-000000000001"] })
    .transform((value) => value.toLowerCase());

/** Accepts a transaction's id: 64 hex digits, in any case, with or without 0x; returns lower case. */
export const transactionId = () =>
  z
    .string()
    .regex(/^(?:0[xX])?[0-9a-fA-F]{64}$/, "Expected 64 hex digits")
    .meta({
      description: "A transaction's id, in any case, with or without `0x`.",
      examples: ["21c86909067d90562602828986c922f0320d5db9e6b091879be09d2de609658a"],
    })
    .transform((value) => value.replace(/^0x/i, "").toLowerCase());

/** Accepts a Cadence address: 16 hex digits, in either case, with or without 0x; returns the bytes. */
export const cadenceAddress = () =>
  z
    .string()
    .regex(/^(?:0[xX])?[0-9a-fA-F]{16}$/, "Expected 16 hex digits")
    .meta({ description: "A Cadence address, in any case, with or without `0x`.", examples: ["0xe03daebed8ca0615"] })
    .transform((value) => Buffer.from(value.slice(-16), "hex"));

/** Accepts a query parameter that is "true", "false", "1" or "0"; absent is false. */
export const queryFlag = (description: string) =>
  z
    .enum(["true", "false", "1", "0"])
    .default("false")
    .meta({
      description,
      examples: [true],
      // Generated clients send a boolean as "true" or "false".
      override: ({ jsonSchema }) => {
        jsonSchema.type = "boolean";
        jsonSchema.default = false;
        delete jsonSchema.enum;
      },
    })
    .transform((value) => value === "true" || value === "1");

/** Returns lower-case hex without a prefix; "" for no bytes. */
export const toHex = (bytes: Uint8Array | undefined): string =>
  bytes === undefined ? "" : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");

/** Returns ISO 8601 in UTC with milliseconds; "" for none. */
export const toTimestamp = (date: Date | undefined): string => date?.toISOString() ?? "";

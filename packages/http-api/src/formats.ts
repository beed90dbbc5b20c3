import { hasAtMost } from "@countersign/core";
import { KEY_ALGORITHMS } from "@countersign/keys";
import { z } from "zod";

/** ISO 8601 in UTC with milliseconds. */
export const Timestamp = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  .meta({ format: "date-time", examples: ["2026-11-20T10:00:00.000Z"] });

/** A timestamp, or "" for none. */
export const OptionalTimestamp = z
  .string()
  .regex(/^(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)?$/)
  .meta({ examples: ["2026-11-20T10:00:00.000Z"] });

/** Lower-case hex without a prefix; "" for no bytes. */
export const Hex = z
  .string()
  .regex(/^(?:[0-9a-f]{2})*$/)
  .meta({ examples: ["464c4f57"] });

/** A lower-case UUID of any version. */
export const Uuid = z
  .string()
  .regex(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  .meta({ format: "uuid", examples: ["019a0000-0000-7000-8000-000000000001"] });

/** The generator of P-256: a point that every library knows. */
export const EXAMPLE_PUBLIC_KEY =
  "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296" +
  "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5";

/** A public key in its canonical form: hex of the 64 bytes x||y, or of the 32 bytes of Ed25519. */
export const PublicKeyHex = z
  .string()
  .regex(/^(?:[0-9a-f]{128}|[0-9a-f]{64})$/)
  .meta({ examples: [EXAMPLE_PUBLIC_KEY] });

/** The JOSE name of a key's algorithm. */
export const Algorithm = z.enum(KEY_ALGORITHMS).meta({
  id: "Algorithm",
  description:
    "A key's algorithm by its JOSE name: `ES256` is P-256, `ES256K` secp256k1, `EdDSA` Ed25519. " +
    "In requests the default is `ES256`, and a key of 32 bytes is Ed25519.",
  examples: ["ES256"],
});

/** The id of a Flow transaction; "" where there is none yet. */
export const OptionalTransactionId = z
  .string()
  .regex(/^(?:[0-9a-f]{64})?$/)
  .meta({ examples: ["21c86909067d90562602828986c922f0320d5db9e6b091879be09d2de609658a"] });

/** A chain address: 8 bytes of Cadence or 20 bytes of EVM. */
export const ChainAddress = z
  .string()
  .regex(/^0x[0-9a-f]{16}(?:[0-9a-f]{24})?$/)
  .meta({ examples: ["0xe03daebed8ca0615"] });

/** The address of a Cadence account. */
export const CadenceAddress = z
  .string()
  .regex(/^0x[0-9a-f]{16}$/)
  .meta({ examples: ["0xe03daebed8ca0615"] });

/** The configured name of a chain. */
export const ChainName = z.string().meta({ description: "The chain's configured name.", examples: ["flow-emulator"] });

/** Any text, with a description and an example for the documents. */
export const described = (description: string, example: string) =>
  z.string().meta({ description, examples: [example] });

/**
 * Accepts a string of at most `max` characters, as JSON Schema and the services count them. NUL and lone
 * surrogates are rejected, because neither protobuf nor Postgres stores them unchanged.
 */
export const text = (max = 256, tooLong = `Too long: expected string to have <=${max} characters`) =>
  z
    .string()
    .refine((value) => hasAtMost(value, max), tooLong)
    .refine((value) => value.isWellFormed() && !value.includes("\0"), "Contains NUL or half of a surrogate pair")
    .meta({ maxLength: max });

/**
 * Returns an enumeration as answers have it: generated clients read a string, because with a closed one they
 * would fail on a value that a newer gateway sends. In requests it stays closed: the gateway refuses others.
 */
export function open<Enumeration extends z.ZodEnum>(closed: Enumeration): Enumeration {
  const { id: _, ...members } = closed.meta() ?? {};
  return (z.enum(closed.options as string[]) as unknown as Enumeration).meta({
    ...members,
    description: `${members.description} A newer gateway may send other values.`,
    "x-extensible-enum": closed.options,
    override: ({ jsonSchema }: { jsonSchema: Record<string, unknown> }) => void delete jsonSchema.enum,
  });
}

/**
 * Returns an enumeration as a text with a pattern: generated clients pass on the value that an answer had,
 * and have no file for it.
 */
export function asText<Enumeration extends z.ZodEnum>(closed: Enumeration): Enumeration {
  const { id: _, ...members } = closed.meta() ?? {};
  return (z.enum(closed.options as string[]) as unknown as Enumeration).meta({
    ...members,
    override: ({ jsonSchema }: { jsonSchema: Record<string, unknown> }) => {
      jsonSchema.pattern = `^(?:${closed.options.join("|")})$`;
      delete jsonSchema.enum;
    },
  });
}

/** Returns an open enumeration without a name of its own; the first value is the example. */
export const openEnum = <const Values extends readonly [string, ...string[]]>(values: Values, description: string) =>
  open(z.enum(values).meta({ description, examples: [values[0]] }));

/** Returns a named schema: an object that the documents describe once and refer to by its name. */
export const resource = <Shape extends z.ZodRawShape>(id: string, description: string, shape: Shape) =>
  z.object(shape).meta({ id, description });

export const createdAt = Timestamp.meta({ description: "The time of creation." });
export const lastUsedAt = OptionalTimestamp.meta({ description: 'The time of the last use; "" for none so far.' });

export const EXAMPLE_JWT = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIwMTlhIn0.c2lnbmF0dXJl";

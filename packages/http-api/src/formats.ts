import { KEY_ALGORITHMS } from "@countersign/keys";
import { z } from "zod";

/** ISO 8601 in UTC with milliseconds. */
export const Timestamp = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  .meta({ format: "date-time" });

/** A timestamp, or "" for none. */
export const OptionalTimestamp = z.string().regex(/^(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)?$/);

/** Lower-case hex without a prefix; "" for no bytes. */
export const Hex = z.string().regex(/^(?:[0-9a-f]{2})*$/);

/** A lower-case UUID of any version. */
export const Uuid = z
  .string()
  .regex(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  .meta({ format: "uuid" });

/** A public key in its canonical form: hex of the 64 bytes x||y, or of the 32 bytes of Ed25519. */
export const PublicKeyHex = z.string().regex(/^(?:[0-9a-f]{128}|[0-9a-f]{64})$/);

/** The JOSE name of a key's algorithm. */
export const Algorithm = z.enum(KEY_ALGORITHMS);

/** The id of a Flow transaction; "" where there is none yet. */
export const OptionalTransactionId = z.string().regex(/^(?:[0-9a-f]{64})?$/);

/** A chain address: 8 bytes of Cadence or 20 bytes of EVM. */
export const ChainAddress = z.string().regex(/^0x[0-9a-f]{16}(?:[0-9a-f]{24})?$/);

/** The address of a Cadence account. */
export const CadenceAddress = z.string().regex(/^0x[0-9a-f]{16}$/);

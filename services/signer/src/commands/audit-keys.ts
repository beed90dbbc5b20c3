import { parsePublicKey } from "@countersign/keys";
import { readJsonFile } from "@countersign/runtime";
import { z } from "zod";
import type { AuditPublicKeys } from "../audit/audit-key.ts";

const file = z.object({ audit: z.array(z.object({ version: z.int().positive(), publicKey: z.string() })).min(1) });

/**
 * Reads the audit key's public halves from the output of `signer keys export-public`. Errors: ConfigError,
 * PublicKeyError.
 */
export const readAuditKeys = (path: string): AuditPublicKeys =>
  new Map(
    readJsonFile(path, file).audit.map(({ version, publicKey }) => [version, parsePublicKey(publicKey, "ES256")]),
  );

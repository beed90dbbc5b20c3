import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { encodingVectors } from "./vectors/encodings.ts";
import { enrollmentVectors } from "./vectors/enrollments.ts";
import { keyChangeVectors } from "./vectors/key-changes.ts";
import { problemVectors } from "./vectors/problems.ts";
import { attestationVectors, signatureVectors, userMessageVectors } from "./vectors/signatures.ts";
import { STREAMS } from "./vectors/streams.ts";
import { transactionVectors } from "./vectors/transactions.ts";

/** The one file of test vectors that TypeScript, Kotlin and Swift compare their codecs with. */
export const VECTORS_FILE = join(root, "clients/vectors.json");

/** Makes all vectors; the same at each call. */
const makeVectors = (): object => ({
  about: "Made by dev/src/native/vectors.ts from packages/keys, flow and client. Bytes are hex. Keys are for tests.",
  ...signatureVectors(),
  ...encodingVectors(),
  ...transactionVectors(),
  ...keyChangeVectors(),
  ...enrollmentVectors(),
  ...userMessageVectors(),
  ...attestationVectors(),
  ...problemVectors(),
  streams: STREAMS,
});

export const vectorsText = (): string => `${JSON.stringify(makeVectors(), null, 2)}\n`;

if (import.meta.main) writeFileSync(VECTORS_FILE, vectorsText());

import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { GetAuditProofResponse } from "@countersign/proto/signer/v1/information.ts";
import { command, UsageError } from "@countersign/runtime";
import { type ProvenRecord, verifyProof } from "../audit/verify-proof.ts";
import { readAuditKeys } from "./audit-keys.ts";

/**
 * `signer audit verify-proof`: a third party's check that a signature is in the log. Needs the proof and the
 * audit key's public half.
 */
export const auditVerifyProof = command({
  usage:
    "audit verify-proof --proof <JSON of GetAuditProofResponse> --public-key <file> [--message <file of the signed message>]",
  about: "Checks that a signature is in the log, with the proof and the audit key's public half only.",
  options: { proof: { type: "string" }, "public-key": { type: "string" }, message: { type: "string" } },
  async run({ values, print }) {
    if (!values.proof || !values["public-key"]) throw new UsageError(this.usage);
    const response = GetAuditProofResponse.fromJSON(JSON.parse(readFileSync(values.proof, "utf8")));
    const proof = {
      record: response.record.toString("utf8"),
      checkpoint: response.checkpoint.toString("utf8"),
      checkpointSignature: response.checkpointSignature.toString("hex"),
      path: response.path,
    };
    const proven = verifyProof(proof, readAuditKeys(values["public-key"]));
    const problem = typeof proven === "string" ? proven : notThisSignature(proven, values.message);
    if (problem) print(`WRONG  ${problem}`);
    else print(JSON.stringify(proven));
    return problem ? 1 : 0;
  },
});

function notThisSignature({ verdict, messageHash }: ProvenRecord, file: string | undefined): string {
  if (verdict !== "signed") return `the record is a refusal: ${verdict}`;
  if (file === undefined) return "";
  const found = hash("sha256", readFileSync(file));
  return found === messageHash ? "" : "the record is about another message";
}

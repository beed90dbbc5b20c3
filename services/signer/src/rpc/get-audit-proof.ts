import { AppError, isUuid } from "@countersign/core";
import { bytesToHex } from "@countersign/keys";
import type { InformationService } from "@countersign/proto/signer/v1/information.ts";
import type { Handler } from "@countersign/rpc";
import type { getAuditProof } from "../domain/get-audit-proof.ts";

/** signer.v1.Information/GetAuditProof */
export const getAuditProofRpc =
  (command: ReturnType<typeof getAuditProof>): Handler<InformationService["getAuditProof"]> =>
  async ({ receipt }) => {
    if (!receipt || !isUuid(receipt.chainId) || receipt.sequence > BigInt(Number.MAX_SAFE_INTEGER)) {
      throw new AppError("InvalidRequest", { fields: [{ pointer: "/receipt", detail: "no receipt" }] });
    }
    const { chainId, sequence, recordHash } = receipt;
    const { text, previousHash, checkpoint, path } = await command({ chainId, sequence, hash: bytesToHex(recordHash) });
    return {
      record: Buffer.from(text),
      previousHash: Buffer.from(previousHash, "hex"),
      checkpoint: Buffer.from(checkpoint.text),
      checkpointSignature: Buffer.from(checkpoint.signature, "hex"),
      path: path.map((node) => Buffer.from(node)),
    };
  };

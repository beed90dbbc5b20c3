import { invalidField, isUuid } from "@countersign/core";
import { bytesToHex } from "@countersign/keys";
import type { InformationService } from "@countersign/proto/signer/v1/information.ts";
import { type Handlers, publicKeyToProto } from "@countersign/rpc";
import type { Amounts } from "../budget/budget.ts";
import type { Commands } from "../domain/commands.ts";

const amountsToProto = ({ count, computation, fees }: Amounts) => ({
  count: BigInt(count),
  computation: BigInt(computation),
  fees: BigInt(fees),
});

/** Handles signer.v1.Information. */
export const informationHandlers = (commands: Commands): Handlers<InformationService> => ({
  async getPublicKeys({ chainName }) {
    const { paymaster, creator } = await commands.getPublicKeys(chainName);
    return { paymaster: publicKeyToProto(paymaster), creator: publicKeyToProto(creator) };
  },

  async explain({ message, chainName }) {
    const { kind, refusalReason, detail, reserves } = await commands.explain(message, chainName);
    return { kind, refusalReason, detail, reserves: reserves && amountsToProto(reserves) };
  },

  async listTemplates({ chainName }) {
    const templates = commands.listTemplates(chainName);
    return {
      templates: templates.map(({ parameters, ...template }) => ({ ...template, parameters: [...parameters] })),
    };
  },

  async getAuditProof({ receipt }) {
    if (!receipt || !isUuid(receipt.chainId) || receipt.sequence > BigInt(Number.MAX_SAFE_INTEGER))
      throw invalidField("/receipt", "not a receipt");
    const { chainId, sequence, recordHash } = receipt;
    const proof = await commands.getAuditProof({ chainId, sequence, hash: bytesToHex(recordHash) });
    return {
      record: Buffer.from(proof.text),
      previousHash: Buffer.from(proof.previousHash, "hex"),
      checkpoint: Buffer.from(proof.checkpoint.text),
      checkpointSignature: Buffer.from(proof.checkpoint.signature, "hex"),
      path: proof.path.map((node) => Buffer.from(node)),
    };
  },
});

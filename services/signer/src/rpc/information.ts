import type { InformationService } from "@countersign/proto/signer/v1/information.ts";
import { type Handlers, publicKeyToProto } from "@countersign/service-kit";
import type { explain } from "../domain/explain.ts";
import type { getAuditProof } from "../domain/get-audit-proof.ts";
import type { Vault } from "../vault/index.ts";
import { getAuditProofRpc } from "./get-audit-proof.ts";

/** signer.v1.Information: explains, proves and answers public keys; signs nothing. */
export const informationRpcs = (
  vault: Vault,
  explaining: ReturnType<typeof explain>,
  proof: ReturnType<typeof getAuditProof>,
): Handlers<InformationService> => ({
  getPublicKeys: async ({ chainName }) => ({
    paymaster: publicKeyToProto(await vault.publicKey({ role: "paymaster", chainName })),
    creator: publicKeyToProto(await vault.publicKey({ role: "creator", chainName })),
  }),
  explain: async ({ message, chainName }) => explaining(message, chainName),
  getAuditProof: getAuditProofRpc(proof),
});

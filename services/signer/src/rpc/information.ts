import { AppError } from "@countersign/errors";
import type { InformationService } from "@countersign/proto/signer/v1/information.ts";
import { type Handlers, publicKeyToProto } from "@countersign/service-kit";
import type { explain } from "../domain/explain.ts";
import type { Vault } from "../vault/index.ts";

/** signer.v1.Information: explains and answers public keys; signs nothing. */
export const informationRpcs = (
  vault: Vault,
  explaining: ReturnType<typeof explain>,
): Handlers<InformationService> => ({
  getPublicKeys: async ({ chainName }) => ({
    paymaster: publicKeyToProto(await vault.publicKey({ role: "paymaster", chainName })),
    creator: publicKeyToProto(await vault.publicKey({ role: "creator", chainName })),
  }),
  explain: async ({ message, chainName }) => explaining(message, chainName),
  getAuditProof: async () => {
    throw new AppError("NotImplemented");
  },
});

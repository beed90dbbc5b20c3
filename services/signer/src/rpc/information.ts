import { AppError } from "@countersign/core";
import { describeTemplates } from "@countersign/flow";
import type { InformationService } from "@countersign/proto/signer/v1/information.ts";
import { type Handlers, publicKeyToProto } from "@countersign/rpc";
import type { Amounts } from "../budget/budget.ts";
import type { explain } from "../domain/explain.ts";
import type { getAuditProof } from "../domain/get-audit-proof.ts";
import { type ChainPolicy, creatorVersion, paymasterVersion } from "../policy/chain.ts";
import type { Vault } from "../vault/index.ts";
import { getAuditProofRpc } from "./get-audit-proof.ts";

const toWire = ({ count, computation, fees }: Amounts) => ({
  count: BigInt(count),
  computation: BigInt(computation),
  fees: BigInt(fees),
});

function onlyOne(names: readonly string[]): string {
  const [name = ""] = names;
  if (names.length <= 1) return name;
  const detail = `required, one of ${names.map((each) => JSON.stringify(each)).join(", ")}`;
  throw new AppError("InvalidRequest", { fields: [{ pointer: "/chainName", detail }] });
}

/** signer.v1.Information: explains, proves and answers public keys; signs nothing. */
export const informationRpcs = (
  vault: Vault,
  chains: { get: (name: string) => ChainPolicy; readonly names: readonly string[] },
  explaining: ReturnType<typeof explain>,
  proof: ReturnType<typeof getAuditProof>,
): Handlers<InformationService> => ({
  getPublicKeys: async ({ chainName }) => {
    const policy = chains.get(chainName);
    const newest = policy.creator.keyCount - 1;
    const [paymaster, creator] = await Promise.all([
      vault.publicKey({ role: "paymaster", chainName, version: paymasterVersion(policy) }),
      vault.publicKey({ role: "creator", chainName, version: creatorVersion(policy, newest) }),
    ]);
    return { paymaster: publicKeyToProto(paymaster), creator: publicKeyToProto(creator) };
  },
  explain: async ({ message, chainName }) => {
    const { kind, refusalReason, detail, reserves } = await explaining(message, chainName);
    return { kind, refusalReason, detail, reserves: reserves && toWire(reserves) };
  },
  listTemplates: async ({ chainName }) => {
    const { hybridCustody } = chains.get(chainName || onlyOne(chains.names));
    const templates = describeTemplates(hybridCustody);
    return {
      templates: templates.map(({ name, script, parameters, gasLimit }) => ({
        name,
        script,
        parameters: [...parameters],
        gasLimit,
      })),
    };
  },
  getAuditProof: getAuditProofRpc(proof),
});

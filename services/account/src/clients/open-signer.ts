import { asPort } from "@countersign/core";
import { BudgetsService } from "@countersign/proto/signer/v1/budgets.ts";
import { CreationService } from "@countersign/proto/signer/v1/creation.ts";
import { FreezingService } from "@countersign/proto/signer/v1/freezing.ts";
import { ServerKeysService } from "@countersign/proto/signer/v1/server_keys.ts";
import { SigningService } from "@countersign/proto/signer/v1/signing.ts";
import type { ServiceRuntime } from "@countersign/runtime";
import { budgetSigner, creationSigner, keyAdditionSigner, rotationSigner, voidSigner } from "./signer.ts";

const DEADLINE_MS = 2_000;
const SETTLEMENT_DEADLINE_MS = 10_000;

/** Opens clients of the signer's services, one for each use by the domain; they close with the process. */
export function openSigner(runtime: ServiceRuntime<"signer">) {
  const budgets = runtime.client(BudgetsService, "signer", SETTLEMENT_DEADLINE_MS);
  const signing = runtime.client(SigningService, "signer", DEADLINE_MS);
  return {
    budgets: asPort("budgets", budgetSigner(budgets), {
      settle: ({ executed }) => (executed.length > 0 ? "paid" : ""),
    }),
    creation: creationSigner(runtime.client(CreationService, "signer", DEADLINE_MS)),
    keyAdditions: keyAdditionSigner(signing),
    rotation: rotationSigner(runtime.client(ServerKeysService, "signer", DEADLINE_MS), signing),
    voids: voidSigner(runtime.client(FreezingService, "signer", DEADLINE_MS)),
  };
}

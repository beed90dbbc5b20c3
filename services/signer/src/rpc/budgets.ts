import { AppError } from "@countersign/core";
import { bytesToHex } from "@countersign/keys";
import type { BudgetsService, ExecutedTransaction } from "@countersign/proto/signer/v1/budgets.ts";
import type { Handlers } from "@countersign/rpc";
import { proposalOf } from "../budget/budget.ts";
import type { Executed } from "../budget/settlement.ts";
import type { Commands } from "../domain/commands.ts";
import { requireLength } from "./conversions.ts";

const MAX_EXECUTED_PER_CALL = 10_000;

function executedFromProto({ proposer, keyId, sequenceNumber, computation, fees }: ExecutedTransaction): Executed {
  requireLength(proposer, 8, "proposer");
  return {
    proposal: proposalOf({ address: bytesToHex(proposer), keyId, sequenceNumber }),
    computation: Number(computation),
    fees: Number(fees),
  };
}

/** Handles signer.v1.Budgets. */
export const budgetsHandlers = (commands: Commands): Handlers<BudgetsService> => ({
  beginSettlement: ({ chainName }) => commands.beginSettlement(chainName),

  async settleReservations({ chainName, mark, latestHeight, sealedHeight, executed }) {
    if (!mark) throw new AppError("InvalidRequest", { detail: "mark is missing" });
    if (executed.length > MAX_EXECUTED_PER_CALL)
      throw new AppError("InvalidRequest", { detail: `at most ${MAX_EXECUTED_PER_CALL} executed transactions` });
    if (sealedHeight > latestHeight || latestHeight > BigInt(Number.MAX_SAFE_INTEGER))
      throw new AppError("InvalidRequest", { detail: "sealedHeight is above latestHeight, or a height is too large" });
    const settlement = { chainName, mark, latestHeight, sealedHeight, executed: executed.map(executedFromProto) };
    return commands.settleReservations(settlement);
  },
});

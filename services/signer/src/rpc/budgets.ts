import { AppError } from "@countersign/core";
import { bytesToHex } from "@countersign/keys";
import type { BudgetsService, ExecutedTransaction } from "@countersign/proto/signer/v1/budgets.ts";
import type { Handlers } from "@countersign/rpc";
import { proposalOf } from "../budget/budget.ts";
import type { Executed } from "../budget/settlement.ts";
import type { beginSettlement, settleReservations } from "../domain/settle-reservations.ts";

const MOST = 10_000;

function fromWire({ proposer, keyId, sequenceNumber, computation, fees }: ExecutedTransaction): Executed {
  if (proposer.length !== 8) throw new AppError("InvalidRequest", { detail: "a proposer has 8 bytes" });
  const address = bytesToHex(proposer);
  return {
    proposal: proposalOf({ address, keyId, sequenceNumber }),
    computation: Number(computation),
    fees: Number(fees),
  };
}

/** signer.v1.Budgets */
export const budgetRpcs = (
  begin: ReturnType<typeof beginSettlement>,
  settle: ReturnType<typeof settleReservations>,
): Handlers<BudgetsService> => ({
  beginSettlement: ({ chainName }) => begin(chainName),
  async settleReservations({ chainName, mark, latestHeight, sealedHeight, executed }) {
    if (!mark) throw new AppError("InvalidRequest", { detail: "no mark" });
    if (executed.length > MOST) throw new AppError("InvalidRequest", { detail: `at most ${MOST} transactions` });
    if (sealedHeight > latestHeight || latestHeight > BigInt(Number.MAX_SAFE_INTEGER))
      throw new AppError("InvalidRequest", { detail: "no heights of a chain" });
    return settle({ chainName, mark, latestHeight, sealedHeight, executed: executed.map(fromWire) });
  },
});

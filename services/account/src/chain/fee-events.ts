import type { AccessApi, ChainEvent } from "@countersign/flow";
import type { Network } from "@countersign/settings";
import type { PaidTransaction } from "../domain/budgets/settle-budgets.ts";
import { CORE_CONTRACTS } from "./core-contracts.ts";

/** Transactions that are read at once. */
const AT_ONCE = 8;

/** Returns a text such as "0.00001000" in 10⁻⁸. Errors: TypeError. */
function units(value: unknown, what: string): bigint {
  const [, whole, fraction] = /^(\d+)\.(\d{8})$/.exec(String(value)) ?? [];
  if (whole === undefined || fraction === undefined) throw new TypeError(`${what} is no UFix64`);
  return BigInt(whole + fraction);
}

/**
 * Returns the transactions that an address paid fees for in these blocks: withdrawals from it name them,
 * FeesDeducted has the amount (the effort in 10⁻⁸ units of computation), and the proposal key has the owner.
 */
export async function paidTransactions(
  access: Pick<AccessApi, "events" | "transaction">,
  { network, paymaster }: Pick<Network, "network" | "paymaster">,
  from: bigint,
  to: bigint,
  signal: AbortSignal,
): Promise<PaidTransaction[]> {
  const { flowToken, fees } = CORE_CONTRACTS[network];
  const withdrawn = await access.events(`A.${flowToken}.FlowToken.TokensWithdrawn`, from, to, signal);
  const ids = new Set(
    withdrawn
      .filter(({ fields }) => fields.from === `0x${paymaster.address}`)
      .map(({ transactionId }) => transactionId),
  );
  if (ids.size === 0) return [];
  const deducted = await access.events(`A.${fees}.FlowFees.FeesDeducted`, from, to, signal);
  const inOrder = deducted
    .filter(({ transactionId }) => ids.has(transactionId))
    .toSorted((one, other) => (one.index ?? 0) - (other.index ?? 0));
  // Any contract can have it emitted, with amounts of its choice: the chain's own is a transaction's last.
  const ours = [...new Map(inOrder.map((event) => [event.transactionId, event])).values()];

  const read = async ({ transactionId, fields }: ChainEvent): Promise<PaidTransaction[]> => {
    const { payer, proposalKey } = await access.transaction(transactionId, signal);
    if (payer !== paymaster.address) return [];
    return [
      {
        proposer: proposalKey.address,
        keyId: proposalKey.keyId,
        sequenceNumber: proposalKey.sequenceNumber,
        computation: units(fields.executionEffort, "executionEffort"),
        fees: units(fields.amount, "amount"),
      },
    ];
  };
  const found: PaidTransaction[] = [];
  for (let start = 0; start < ours.length; start += AT_ONCE)
    found.push(...(await Promise.all(ours.slice(start, start + AT_ONCE).map(read))).flat());
  return found;
}

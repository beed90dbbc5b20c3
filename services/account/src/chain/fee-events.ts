import type { AccessApi, ChainEvent } from "@countersign/flow";
import type { Network } from "@countersign/settings";
import type { PaidTransaction } from "../domain/budgets/settle-budgets.ts";
import { CORE_CONTRACTS } from "./core-contracts.ts";
import { type EventsAccess, eventsIn } from "./events-in.ts";

/** Transactions that are read at once. */
const AT_ONCE = 8;

/** Returns a UFix64 such as "0.00001000" in 10⁻⁸. Errors: TypeError. */
function units(value: unknown, what: string): bigint {
  const [, whole, fraction] = /^(\d{1,12})\.(\d{8})$/.exec(String(value)) ?? [];
  if (whole === undefined || fraction === undefined) throw new TypeError(`${what} is no UFix64`);
  return BigInt(whole + fraction);
}

/**
 * Returns the transactions that an address paid fees for in these blocks: withdrawals from it name them,
 * FeesDeducted has the amount (the effort in 10⁻⁸ units of computation), and the proposal key has the owner.
 */
export async function paidTransactions(
  node: EventsAccess & { readonly access: Pick<AccessApi, "transaction"> },
  { network, paymaster }: Pick<Network, "network" | "paymaster">,
  from: bigint,
  to: bigint,
  signal: AbortSignal,
): Promise<PaidTransaction[]> {
  const { flowToken, fees } = CORE_CONTRACTS[network];
  const select = <T>(type: string, read: (event: ChainEvent) => T | undefined) =>
    eventsIn(node, [type], { from, to }, read, signal);
  const paid = await select(`A.${flowToken}.FlowToken.TokensWithdrawn`, ({ fields, transactionId }) =>
    fields.from === `0x${paymaster.address}` ? transactionId : undefined,
  );
  if (paid.length === 0) return [];
  const ids = new Set(paid);
  const deducted = await select(`A.${fees}.FlowFees.FeesDeducted`, (event) =>
    ids.has(event.transactionId) ? event : undefined,
  );
  const inOrder = deducted.toSorted((one, other) => (one.index ?? 0) - (other.index ?? 0));
  // Any contract can have it emitted, with amounts of its choice: the chain's own is a transaction's last.
  const ours = [...new Map(inOrder.map((event) => [event.transactionId, event])).values()];

  const read = async ({ transactionId, fields }: ChainEvent): Promise<PaidTransaction[]> => {
    const { payer, proposalKey } = await node.access.transaction(transactionId, signal);
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

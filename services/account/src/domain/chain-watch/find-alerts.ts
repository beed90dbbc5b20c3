import type { ChainTransaction } from "@countersign/flow";
import type { AccountKey } from "../key-additions/key-addition.ts";
import { type AccountEvent, type AlertActions, kindOf, type WatchedKind } from "./account-event.ts";
import { isOurs, type OwnTransactions } from "./judge-event.ts";

/** An event of an account that no transaction of ours caused. Unique by chain, transaction and index. */
export interface Alert {
  readonly accountId: string;
  readonly event: AccountEvent;
  readonly kind: WatchedKind;
  readonly freezes: boolean;
}

/** The chain, as far as judging events needs it. */
export interface AlertChain extends OwnTransactions {
  readonly chainName: string;
  transaction(id: string, signal: AbortSignal): Promise<ChainTransaction | undefined>;
  accountKey(address: string, index: number, signal: AbortSignal): Promise<AccountKey>;
}

export interface FindAlertsOptions {
  readonly chain: AlertChain;
  /** The accounts of these addresses, 16 hex digits each, as far as they are ours. */
  readonly managed: (chainName: string, addresses: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  readonly actions: AlertActions;
}

/**
 * A node that shows an event soon has its transaction; one that does not have it after this many blocks never
 * will.
 */
const MISSING_TRANSACTION_BLOCKS = 600n;
/**
 * The most alerts of a kind for one account in a range: the first one is enough, and thousands of cheap
 * events must not delay those of other accounts.
 */
export const MOST_OF_A_KIND = 10;

/**
 * Returns the events that no transaction of ours caused, the first few of each account and kind.
 * Errors: Error where a node does not show a transaction yet.
 */
export async function findAlerts(
  { chain, managed, actions }: FindAlertsOptions,
  events: readonly AccountEvent[],
  latest: bigint,
  signal: AbortSignal,
): Promise<Alert[]> {
  const watched = events.filter((event) => actions[kindOf(event) ?? "keys"] !== "off");
  if (watched.length === 0) return [];
  const accounts = await managed(chain.chainName, [...new Set(watched.map(({ address }) => address))]);
  const transactions = new Map<string, ChainTransaction | undefined>();
  const alerts: Alert[] = [];
  const raised = new Map<string, number>();
  for (const event of watched) {
    const { transactionId, address, height } = event;
    const accountId = accounts.get(address);
    const kind = kindOf(event);
    if (accountId === undefined || kind === undefined) continue;
    const before = raised.get(`${accountId}/${kind}`) ?? 0;
    if (before === MOST_OF_A_KIND) continue;
    if (!transactions.has(transactionId)) {
      const found = await chain.transaction(transactionId, signal);
      if (!found && latest - height < MISSING_TRANSACTION_BLOCKS)
        throw new Error(`transaction ${transactionId} is not shown yet`);
      transactions.set(transactionId, found);
    }
    const transaction = transactions.get(transactionId);
    const proposer = (index: number) => chain.accountKey(address, index, signal);
    if (transaction && (await isOurs(event, transaction, chain, proposer))) continue;
    raised.set(`${accountId}/${kind}`, before + 1);
    alerts.push({ accountId, event, kind, freezes: actions[kind] === "freeze" });
  }
  return alerts;
}

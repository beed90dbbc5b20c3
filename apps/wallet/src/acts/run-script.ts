import { type ClientNetwork, type CountersignClient, sendTransaction } from "@countersign/client";
import type { TransactionHooks } from "@countersign/react";

/** Any Cadence script: the signer reads its syntax tree and refuses what could take the account. */
export const runScript = (
  client: CountersignClient,
  { network, cadence }: { network: ClientNetwork; cadence: string },
  { confirm, onStatus }: TransactionHooks,
) => sendTransaction(client, { network, cadence, confirm, onStatus });

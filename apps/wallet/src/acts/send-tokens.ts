import { type ClientNetwork, type CountersignClient, sendTransaction } from "@countersign/client";
import { cadenceAddress, cadenceUFix64 } from "@countersign/flow";
import type { TransactionHooks } from "@countersign/react";
import { TRANSFER } from "./transfer.ts";

/** Signed by this phone and the server; the paymaster pays the fee. */
export const sendTokens = (
  client: CountersignClient,
  { network, amount, to }: { network: ClientNetwork; amount: string; to: string },
  { confirm, onStatus }: TransactionHooks, // of useTransaction(): the app's own dialog
) =>
  sendTransaction(client, {
    network,
    cadence: TRANSFER,
    args: [cadenceUFix64(amount), cadenceAddress(to.replace("0x", ""))],
    confirm,
    onStatus,
  });

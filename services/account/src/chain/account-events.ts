import { addedKeys, type ChainEvent, revokedKeys } from "@countersign/flow";
import type { AccountEvent } from "../domain/chain-watch/account-event.ts";

/** The field that names the account that acted, by event type; `address` for the types not listed here. */
const ACTORS: Readonly<Record<string, string>> = {
  "flow.InboxValuePublished": "provider",
  "flow.InboxValueUnpublished": "provider",
  "flow.InboxValueClaimed": "recipient",
};

/**
 * Converts an event of the core into an account's; `height` is for nodes that omit it. Errors: Error where it
 * has no index or no address.
 */
export function accountEventOf(event: ChainEvent, height: bigint): AccountEvent {
  const { type, transactionId, index, fields } = event;
  const address = String(fields[ACTORS[type] ?? "address"]).replace(/^0x/, "");
  if (index === undefined || !/^[0-9a-f]{16}$/.test(address)) throw new Error(`an unknown form of ${type}`);
  const [addedKey] = addedKeys([event]);
  const [removed] = revokedKeys([event]);
  return {
    type,
    address,
    transactionId,
    index,
    height: event.height ?? height,
    ...(addedKey && { addedKey }),
    ...(removed && { removedKeyIndex: removed.keyIndex }),
  };
}

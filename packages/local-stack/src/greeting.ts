import { type ClientNetwork, type CountersignClient, type SentTransaction, sendTransaction } from "@countersign/client";
import { cadenceAddress, cadenceString, createAccessApi, encodeCadence } from "@countersign/flow";

const STORE_GREETING = `transaction(greeting: String) {
    prepare(account: auth(LoadValue, SaveValue, IssueStorageCapabilityController, PublishCapability, UnpublishCapability) &Account) {
        account.storage.load<String>(from: /storage/greeting)
        account.storage.save(greeting, to: /storage/greeting)
        account.capabilities.unpublish(/public/greeting)
        account.capabilities.publish(
            account.capabilities.storage.issue<&String>(/storage/greeting), at: /public/greeting)
    }
}`;

const READ_GREETING = `access(all) fun main(address: Address): String? {
    if let greeting = getAccount(address).capabilities.borrow<&String>(/public/greeting) { return *greeting }
    return nil
}`;

/** Stores a string in the account by a transaction that is co-signed, sponsored and sealed. */
export const storeGreeting = (
  phone: CountersignClient,
  network: ClientNetwork,
  greeting: string,
): Promise<SentTransaction> =>
  sendTransaction(phone, { network, cadence: STORE_GREETING, args: [cadenceString(greeting)] });

/** Reads the stored string of an account (16 hex digits) from the chain. */
export const readGreeting = ({ accessNode }: ClientNetwork, address: string): Promise<unknown> =>
  createAccessApi({ baseUrl: accessNode }).executeScript(READ_GREETING, [encodeCadence(cadenceAddress(address))]);

import { cadenceAddress, cadenceUFix64 } from "@countersign/flow";
import type { ServiceAccount } from "../service-account.ts";

const AMOUNT = "25.00000000";
const FUND = `import FungibleToken from 0xee82856bf20e2aa6
import FlowToken from 0x0ae53cb6e3f42a79

transaction(amount: UFix64, to: Address) {
    prepare(account: auth(BorrowValue) &Account) {
        let vault = account.storage.borrow<auth(FungibleToken.Withdraw) &FlowToken.Vault>(from: /storage/flowTokenVault)!
        getAccount(to).capabilities.borrow<&{FungibleToken.Receiver}>(/public/flowTokenReceiver)!
            .deposit(from: <-vault.withdraw(amount: amount))
    }
}`;

/** Gives test tokens of the emulator's service account, one transaction after another. */
export class Faucet {
  readonly #account: Pick<ServiceAccount, "run">;
  #last: Promise<unknown> = Promise.resolve();

  constructor(account: Pick<ServiceAccount, "run">) {
    this.#account = account;
  }

  /** Sends 25 test FLOW and returns the transaction's id. */
  give(address: string): Promise<string> {
    const give = () => this.#account.run(FUND, [cadenceUFix64(AMOUNT), cadenceAddress(address.replace("0x", ""))]);
    const given = this.#last.then(give, give);
    this.#last = given;
    return given.then(([event]) => event?.transactionId ?? "");
  }
}

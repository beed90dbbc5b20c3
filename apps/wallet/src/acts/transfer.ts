/** Moves FLOW from the account to another one. */
export const TRANSFER = `import FungibleToken from 0xee82856bf20e2aa6
import FlowToken from 0x0ae53cb6e3f42a79

transaction(amount: UFix64, to: Address) {
    prepare(account: auth(BorrowValue) &Account) {
        let vault = account.storage
            .borrow<auth(FungibleToken.Withdraw) &FlowToken.Vault>(from: /storage/flowTokenVault)!
        getAccount(to).capabilities
            .borrow<&{FungibleToken.Receiver}>(/public/flowTokenReceiver)!
            .deposit(from: <-vault.withdraw(amount: amount))
    }
}`;

//# transfer FLOW ["UFix64 0.01", "Address $ADDRESS"]
import FungibleToken from 0xee82856bf20e2aa6
import FlowToken from 0x0ae53cb6e3f42a79
transaction(amount: UFix64, to: Address) {
    let sent: @{FungibleToken.Vault}
    prepare(signer: auth(BorrowValue) &Account) {
        let vault = signer.storage.borrow<auth(FungibleToken.Withdraw) &FlowToken.Vault>(from: /storage/flowTokenVault)
            ?? panic("no vault")
        self.sent <- vault.withdraw(amount: amount)
    }
    execute {
        let receiver = getAccount(to).capabilities.borrow<&{FungibleToken.Receiver}>(/public/flowTokenReceiver)
            ?? panic("no receiver")
        receiver.deposit(from: <-self.sent)
    }
}
//# transfer FLOW, the vault kept as a field ["Address $ADDRESS", "UFix64 0.01"]
import FungibleToken from 0xee82856bf20e2aa6
import FlowToken from 0x0ae53cb6e3f42a79
transaction(recipient: Address, amount: UFix64) {
    let provider: auth(FungibleToken.Withdraw) &FlowToken.Vault
    let receiver: &{FungibleToken.Receiver}
    prepare(signer: auth(BorrowValue) &Account) {
        self.provider = signer.storage.borrow<auth(FungibleToken.Withdraw) &FlowToken.Vault>(from: /storage/flowTokenVault)!
        self.receiver = getAccount(recipient).capabilities.borrow<&{FungibleToken.Receiver}>(/public/flowTokenReceiver)
            ?? panic("Could not borrow receiver reference")
    }
    pre { amount >= 0.0: "nothing to send" }
    execute {
        self.receiver.deposit(from: <-self.provider.withdraw(amount: amount))
    }
}
//# pay several people at once ["[Address] $ADDRESS", "[UFix64] 0.01"]
import FungibleToken from 0xee82856bf20e2aa6
import FlowToken from 0x0ae53cb6e3f42a79
transaction(recipients: [Address], amounts: [UFix64]) {
    prepare(signer: auth(BorrowValue) &Account) {
        let vault = signer.storage.borrow<auth(FungibleToken.Withdraw) &FlowToken.Vault>(from: /storage/flowTokenVault)!
        for i, recipient in recipients {
            getAccount(recipient).capabilities.borrow<&{FungibleToken.Receiver}>(/public/flowTokenReceiver)!
                .deposit(from: <-vault.withdraw(amount: amounts[i]))
        }
    }
}
//# the balance must be left []
import FlowToken from 0x0ae53cb6e3f42a79
transaction {
    let vault: &FlowToken.Vault
    let before: UFix64
    prepare(signer: auth(BorrowValue) &Account) {
        self.vault = signer.storage.borrow<&FlowToken.Vault>(from: /storage/flowTokenVault) ?? panic("no vault")
        self.before = self.vault.balance
    }
    post {
        self.vault.balance == self.before: "something was taken"
    }
}
//# pay what was asked for in a message ["UFix64 0.01", "Address $ADDRESS", "String order 1"]
import FungibleToken from 0xee82856bf20e2aa6
import FlowToken from 0x0ae53cb6e3f42a79
/// A shop's check-out: the order's number is logged with the payment.
transaction(amount: UFix64, shop: Address, order: String) {
    prepare(signer: auth(BorrowValue) &Account) {
        let payment <- signer.storage.borrow<auth(FungibleToken.Withdraw) &{FungibleToken.Provider}>(from: /storage/flowTokenVault)!
            .withdraw(amount: amount)
        getAccount(shop).capabilities.borrow<&{FungibleToken.Receiver}>(/public/flowTokenReceiver)!.deposit(from: <-payment)
        log("paid for \(order)")
    }
}
//# split a vault and put it together again ["UFix64 0.01"]
import FungibleToken from 0xee82856bf20e2aa6
import FlowToken from 0x0ae53cb6e3f42a79
transaction(amount: UFix64) {
    prepare(signer: auth(BorrowValue) &Account) {
        let vault = signer.storage.borrow<auth(FungibleToken.Withdraw) &FlowToken.Vault>(from: /storage/flowTokenVault)!
        let one <- vault.withdraw(amount: amount)
        let two <- vault.withdraw(amount: amount)
        one.deposit(from: <-two)
        vault.deposit(from: <-one)
    }
}
//# set up a second FLOW vault []
import FungibleToken from 0xee82856bf20e2aa6
import FlowToken from 0x0ae53cb6e3f42a79
transaction {
    prepare(signer: auth(SaveValue, BorrowValue, IssueStorageCapabilityController, PublishCapability, UnpublishCapability) &Account) {
        if signer.storage.borrow<&FlowToken.Vault>(from: /storage/savings) != nil { return }
        signer.storage.save(<-FlowToken.createEmptyVault(vaultType: Type<@FlowToken.Vault>()), to: /storage/savings)
        signer.capabilities.unpublish(/public/savings)
        let receiver = signer.capabilities.storage.issue<&{FungibleToken.Receiver}>(/storage/savings)
        signer.capabilities.publish(receiver, at: /public/savings)
    }
}
//# put something into savings ["UFix64 0.01"]
import FungibleToken from 0xee82856bf20e2aa6
import FlowToken from 0x0ae53cb6e3f42a79
transaction(amount: UFix64) {
    prepare(signer: auth(BorrowValue) &Account) {
        let wallet = signer.storage.borrow<auth(FungibleToken.Withdraw) &FlowToken.Vault>(from: /storage/flowTokenVault)!
        let savings = signer.storage.borrow<&FlowToken.Vault>(from: /storage/savings) ?? panic("no savings")
        savings.deposit(from: <-wallet.withdraw(amount: amount))
    }
}
//# close the savings []
import FlowToken from 0x0ae53cb6e3f42a79
transaction {
    prepare(signer: auth(LoadValue, BorrowValue, UnpublishCapability) &Account) {
        signer.capabilities.unpublish(/public/savings)
        let savings <- signer.storage.load<@FlowToken.Vault>(from: /storage/savings) ?? panic("no savings")
        signer.storage.borrow<&FlowToken.Vault>(from: /storage/flowTokenVault)!.deposit(from: <-savings)
    }
}
//# set up a stable coin's vault []
import FungibleToken from 0xf233dcee88fe0abe
import FiatToken from 0xb19436aae4d94622
transaction {
    prepare(signer: auth(SaveValue, BorrowValue, IssueStorageCapabilityController, PublishCapability) &Account) {
        if signer.storage.borrow<&FiatToken.Vault>(from: /storage/USDCVault) == nil {
            signer.storage.save(<-FiatToken.createEmptyVault(vaultType: Type<@FiatToken.Vault>()), to: /storage/USDCVault)
            signer.capabilities.publish(signer.capabilities.storage.issue<&FiatToken.Vault>(/storage/USDCVault), at: /public/USDCVaultReceiver)
        }
    }
}
//# swap at an exchange: least result guarded ["UFix64 0.01", "UFix64 0.01", "UFix64 4102444800.0"]
import FungibleToken from 0xf233dcee88fe0abe
import FlowToken from 0x1654653399040a61
import FiatToken from 0xb19436aae4d94622
import SwapRouter from 0xa6850776a94e6551
transaction(amountIn: UFix64, least: UFix64, deadline: UFix64) {
    prepare(signer: auth(BorrowValue) &Account) {
        let vaultIn <- signer.storage.borrow<auth(FungibleToken.Withdraw) &FlowToken.Vault>(from: /storage/flowTokenVault)!.withdraw(amount: amountIn)
        let out <- SwapRouter.swapExactTokensForTokens(exactVaultIn: <-vaultIn, amountOutMin: least, tokenKeyPath: ["A.1654653399040a61.FlowToken", "A.b19436aae4d94622.FiatToken"], deadline: deadline)
        signer.storage.borrow<&FiatToken.Vault>(from: /storage/USDCVault)!.deposit(from: <-out)
    }
}

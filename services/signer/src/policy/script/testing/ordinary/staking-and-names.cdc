//# delegate to a validator ["String abababababababababababababababababababababababababababababababab", "UFix64 0.05"]
import FungibleToken from 0xf233dcee88fe0abe
import FlowToken from 0x1654653399040a61
import FlowIDTableStaking from 0x8624b52f9ddcd04a
transaction(node: String, amount: UFix64) {
    prepare(signer: auth(BorrowValue, SaveValue, IssueStorageCapabilityController, PublishCapability) &Account) {
        let vault = signer.storage.borrow<auth(FungibleToken.Withdraw) &FlowToken.Vault>(from: /storage/flowTokenVault)!
        let delegator <- FlowIDTableStaking.registerNewDelegator(nodeID: node, tokensCommitted: <-vault.withdraw(amount: amount))
        signer.storage.save(<-delegator, to: /storage/flowStakingDelegator)
        signer.capabilities.publish(signer.capabilities.storage.issue<&{FlowIDTableStaking.NodeDelegatorPublic}>(/storage/flowStakingDelegator), at: /public/flowStakingDelegator)
    }
}
//# stake more ["UFix64 0.01"]
import FungibleToken from 0xf233dcee88fe0abe
import FlowToken from 0x1654653399040a61
import FlowIDTableStaking from 0x8624b52f9ddcd04a
transaction(amount: UFix64) {
    let delegator: auth(FlowIDTableStaking.DelegatorOwner) &FlowIDTableStaking.NodeDelegator
    let vault: auth(FungibleToken.Withdraw) &FlowToken.Vault
    prepare(signer: auth(BorrowValue) &Account) {
        self.delegator = signer.storage.borrow<auth(FlowIDTableStaking.DelegatorOwner) &FlowIDTableStaking.NodeDelegator>(from: /storage/flowStakingDelegator)!
        self.vault = signer.storage.borrow<auth(FungibleToken.Withdraw) &FlowToken.Vault>(from: /storage/flowTokenVault)!
    }
    execute { self.delegator.delegateNewTokens(from: <-self.vault.withdraw(amount: amount)) }
}
//# ask for unstaking ["UFix64 0.01"]
import FlowIDTableStaking from 0x8624b52f9ddcd04a
transaction(amount: UFix64) {
    prepare(signer: auth(BorrowValue) &Account) {
        signer.storage.borrow<auth(FlowIDTableStaking.DelegatorOwner) &FlowIDTableStaking.NodeDelegator>(from: /storage/flowStakingDelegator)!
            .requestUnstaking(amount: amount)
    }
}
//# withdraw rewards ["UFix64 0.01"]
import FungibleToken from 0xf233dcee88fe0abe
import FlowToken from 0x1654653399040a61
import FlowIDTableStaking from 0x8624b52f9ddcd04a
transaction(amount: UFix64) {
    prepare(signer: auth(BorrowValue) &Account) {
        let delegator = signer.storage.borrow<auth(FlowIDTableStaking.DelegatorOwner) &FlowIDTableStaking.NodeDelegator>(from: /storage/flowStakingDelegator)!
        let rewards <- delegator.withdrawRewardedTokens(amount: amount)
        signer.storage.borrow<&FlowToken.Vault>(from: /storage/flowTokenVault)!.deposit(from: <-rewards)
    }
}
//# stake in the test pool ["UFix64 0.01"]
import FungibleToken from 0xee82856bf20e2aa6
import FlowToken from 0x0ae53cb6e3f42a79
import OrdinaryPool from 0xf8d6e0586b0a20c7
transaction(amount: UFix64) {
    prepare(signer: auth(BorrowValue, SaveValue) &Account) {
        let vault = signer.storage.borrow<auth(FungibleToken.Withdraw) &FlowToken.Vault>(from: /storage/flowTokenVault)!
        let stake <- OrdinaryPool.stake(<-vault.withdraw(amount: amount))
        signer.storage.save(<-stake, to: /storage/ordinaryStake)
    }
}
//# leave the test pool []
import FlowToken from 0x0ae53cb6e3f42a79
import OrdinaryPool from 0xf8d6e0586b0a20c7
transaction {
    prepare(signer: auth(BorrowValue, LoadValue) &Account) {
        let stake <- signer.storage.load<@OrdinaryPool.Stake>(from: /storage/ordinaryStake) ?? panic("no stake")
        signer.storage.borrow<&FlowToken.Vault>(from: /storage/flowTokenVault)!.deposit(from: <-OrdinaryPool.leave(<-stake))
    }
}
//# claim a name ["String somebody-$ADDRESS"]
import OrdinaryNames from 0xf8d6e0586b0a20c7
transaction(name: String) {
    prepare(signer: auth(SaveValue) &Account) {
        signer.storage.save(<-OrdinaryNames.claim(name: name, owner: signer.address), to: /storage/ordinaryName)
    }
}
//# set up for .find names []
import FIND from 0x097bafa4e0b48eef
transaction {
    prepare(signer: auth(SaveValue) &Account) {
        if signer.storage.type(at: /storage/findLeases) != nil { return }
        signer.storage.save(<-FIND.createEmptyLeaseCollection(), to: /storage/findLeases)
    }
}
//# claim a .find name ["String somebody", "UFix64 0.05"]
import FungibleToken from 0xf233dcee88fe0abe
import FlowToken from 0x1654653399040a61
import FIND from 0x097bafa4e0b48eef
transaction(name: String, maxAmount: UFix64) {
    let price: UFix64
    let vault: auth(FungibleToken.Withdraw) &FlowToken.Vault
    let leases: auth(FIND.LeaseOwner) &FIND.LeaseCollection
    prepare(signer: auth(BorrowValue) &Account) {
        self.price = FIND.calculateCost(name)
        self.vault = signer.storage.borrow<auth(FungibleToken.Withdraw) &FlowToken.Vault>(from: /storage/flowTokenVault)!
        self.leases = signer.storage.borrow<auth(FIND.LeaseOwner) &FIND.LeaseCollection>(from: /storage/findLeases)!
    }
    pre { self.price <= maxAmount: "the name is dearer than \(maxAmount)" }
    execute { self.leases.register(name: name, vault: <-self.vault.withdraw(amount: self.price)) }
}

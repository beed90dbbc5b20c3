//# call a contract on the EVM ["String 0000000000000000000000000000000000000001", "String 00"]
import EVM from 0xf8d6e0586b0a20c7
transaction(to: String, data: String) {
    let coa: auth(EVM.Call) &EVM.CadenceOwnedAccount
    prepare(signer: auth(BorrowValue) &Account) {
        self.coa = signer.storage.borrow<auth(EVM.Call) &EVM.CadenceOwnedAccount>(from: /storage/evm) ?? panic("no EVM address")
    }
    execute {
        let result = self.coa.call(to: EVM.addressFromString(to), data: data.decodeHex(), gasLimit: 100000, value: EVM.Balance(attoflow: 0))
        assert(result.status == EVM.Status.successful, message: "the call failed")
    }
}
//# several calls in one go ["[String] 0000000000000000000000000000000000000001"]
import EVM from 0xf8d6e0586b0a20c7
transaction(to: [String]) {
    prepare(signer: auth(BorrowValue) &Account) {
        let coa = signer.storage.borrow<auth(EVM.Call) &EVM.CadenceOwnedAccount>(from: /storage/evm)!
        for address in to {
            let result = coa.call(to: EVM.addressFromString(address), data: [], gasLimit: 50000, value: EVM.Balance(attoflow: 0))
            if result.status != EVM.Status.successful { panic("call to ".concat(address).concat(" failed")) }
        }
    }
}
//# FLOW to the EVM ["UFix64 0.01"]
import EVM from 0xf8d6e0586b0a20c7
import FungibleToken from 0xee82856bf20e2aa6
import FlowToken from 0x0ae53cb6e3f42a79
transaction(amount: UFix64) {
    prepare(signer: auth(BorrowValue) &Account) {
        let coa = signer.storage.borrow<&EVM.CadenceOwnedAccount>(from: /storage/evm)!
        let sent <- signer.storage.borrow<auth(FungibleToken.Withdraw) &FlowToken.Vault>(from: /storage/flowTokenVault)!.withdraw(amount: amount)
        coa.deposit(from: <-(sent as! @FlowToken.Vault))
    }
}
//# FLOW back from the EVM ["UFix64 0.01"]
import EVM from 0xf8d6e0586b0a20c7
import FlowToken from 0x0ae53cb6e3f42a79
transaction(amount: UFix64) {
    prepare(signer: auth(BorrowValue) &Account) {
        let coa = signer.storage.borrow<auth(EVM.Withdraw) &EVM.CadenceOwnedAccount>(from: /storage/evm)!
        let balance = EVM.Balance(attoflow: 0)
        balance.setFLOW(flow: amount)
        signer.storage.borrow<&FlowToken.Vault>(from: /storage/flowTokenVault)!.deposit(from: <-coa.withdraw(balance: balance))
    }
}
//# an EVM address where there is none []
import EVM from 0xf8d6e0586b0a20c7
transaction {
    prepare(signer: auth(SaveValue, IssueStorageCapabilityController, PublishCapability, UnpublishCapability) &Account) {
        if signer.storage.type(at: /storage/evm) != nil { return }
        signer.storage.save(<-EVM.createCadenceOwnedAccount(), to: /storage/evm)
        signer.capabilities.unpublish(/public/evm)
        signer.capabilities.publish(signer.capabilities.storage.issue<&EVM.CadenceOwnedAccount>(/storage/evm), at: /public/evm)
    }
}
//# FLOW to somebody else's EVM address ["String 0000000000000000000000000000000000000002", "UFix64 0.01"]
import EVM from 0xf8d6e0586b0a20c7
import FungibleToken from 0xee82856bf20e2aa6
import FlowToken from 0x0ae53cb6e3f42a79
transaction(to: String, amount: UFix64) {
    let sent: @FlowToken.Vault
    prepare(signer: auth(BorrowValue) &Account) {
        self.sent <- signer.storage.borrow<auth(FungibleToken.Withdraw) &FlowToken.Vault>(from: /storage/flowTokenVault)!
            .withdraw(amount: amount) as! @FlowToken.Vault
    }
    execute { EVM.addressFromString(to).deposit(from: <-self.sent) }
}
//# an ERC-20 transfer ["String 0000000000000000000000000000000000000003", "String 0000000000000000000000000000000000000004", "UInt256 1"]
import EVM from 0xe467b9dd11fa00df
transaction(token: String, to: String, amount: UInt256) {
    prepare(signer: auth(BorrowValue) &Account) {
        let coa = signer.storage.borrow<auth(EVM.Call) &EVM.CadenceOwnedAccount>(from: /storage/evm)!
        let data = EVM.encodeABIWithSignature("transfer(address,uint256)", [EVM.addressFromString(to), amount])
        let result = coa.call(to: EVM.addressFromString(token), data: data, gasLimit: 200000, value: EVM.Balance(attoflow: 0))
        assert(result.status == EVM.Status.successful, message: "transfer failed")
    }
}

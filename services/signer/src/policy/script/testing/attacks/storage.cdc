//# ForbiddenType harm Escapes.Taken: the Cadence-owned account is taken out and given away
import EVM from 0xf8d6e0586b0a20c7
import Escapes from 0xf8d6e0586b0a20c7
transaction {
    prepare(account: auth(LoadValue) &Account) {
        Escapes.keep(<- account.storage.load<@EVM.CadenceOwnedAccount>(from: /storage/evm)!)
    }
}
//# ForbiddenType harm Escapes.Taken: taken out as anything
import Escapes from 0xf8d6e0586b0a20c7
transaction {
    prepare(account: auth(LoadValue) &Account) {
        Escapes.keep(<- account.storage.load<@AnyResource>(from: /storage/evm)!)
    }
}
//# ForbiddenType harm Escapes.Taken: a lasting right to call with it is given away
import EVM from 0xf8d6e0586b0a20c7
import Escapes from 0xf8d6e0586b0a20c7
transaction {
    prepare(account: auth(IssueStorageCapabilityController) &Account) {
        Escapes.take(account.capabilities.storage.issue<auth(EVM.Call) &EVM.CadenceOwnedAccount>(/storage/evm))
    }
}
//# ForbiddenType harm Escapes.Taken: the same right behind an interface, and EVM under another name
import EVM as Wallet from 0xf8d6e0586b0a20c7
import Escapes from 0xf8d6e0586b0a20c7
transaction {
    prepare(account: auth(IssueStorageCapabilityController) &Account) {
        Escapes.take(account.capabilities.storage.issue<auth(Wallet.Owner) &{Wallet.Addressable}>(/storage/evm))
    }
}
//# ForbiddenType: the Cadence-owned account in a container
import EVM from 0xf8d6e0586b0a20c7
transaction {
    prepare(account: auth(LoadValue) &Account) {
        let all <- account.storage.load<@{String: EVM.CadenceOwnedAccount}>(from: /storage/wallets)
        destroy all
    }
}
//# ForbiddenType: by its interface
import EVM from 0xf8d6e0586b0a20c7
transaction {
    prepare(account: auth(LoadValue) &Account) {
        let wallet <- account.storage.load<@{EVM.Addressable}>(from: /storage/evm)
        destroy wallet
    }
}
//# ForbiddenType: a lasting right over it, found and cast
import EVM from 0xf8d6e0586b0a20c7
import Evil from 0x01cf0e2f2f715450
transaction(id: UInt64) {
    prepare(account: auth(GetStorageCapabilityController) &Account) {
        let old = account.capabilities.storage.getController(byCapabilityID: id)!.capability as! Capability<auth(EVM.Call) &EVM.CadenceOwnedAccount>
        Evil.take(old)
    }
}
//# ForbiddenPath: the path is put together when the script runs
import EVM from 0xf8d6e0586b0a20c7
transaction {
    prepare(account: auth(BorrowValue) &Account) {
        let path = StoragePath(identifier: "e".concat("vm"))!
        account.storage.borrow<auth(EVM.Call) &EVM.CadenceOwnedAccount>(from: path)!.call(
            to: EVM.addressFromString("0x0000000000000000000000000000000000000001"), data: [], gasLimit: 100000, value: EVM.Balance(attoflow: 0))
    }
}
//# ForbiddenPath: the path is an argument of the transaction
import FlowToken from 0x0ae53cb6e3f42a79
transaction(path: StoragePath) {
    prepare(account: auth(LoadValue) &Account) {
        destroy account.storage.load<@FlowToken.Vault>(from: path)
    }
}
//# ForbiddenPath: a contract says the path, and may say another one tomorrow
import FlowToken from 0x0ae53cb6e3f42a79
import Evil from 0x01cf0e2f2f715450
transaction {
    prepare(account: auth(LoadValue) &Account) {
        destroy account.storage.load<@FlowToken.Vault>(from: Evil.path)
    }
}
//# ForbiddenPath: a contract's function says the path
import FlowToken from 0x0ae53cb6e3f42a79
import FungibleToken from 0xee82856bf20e2aa6
import Evil from 0x01cf0e2f2f715450
transaction {
    prepare(account: auth(BorrowValue) &Account) {
        account.storage.borrow<auth(FungibleToken.Withdraw) &FlowToken.Vault>(from: Evil.path())
    }
}
//# ForbiddenPath: a variable that is a literal, until it is not
import FlowToken from 0x0ae53cb6e3f42a79
transaction(other: StoragePath) {
    prepare(account: auth(LoadValue) &Account) {
        var path = /storage/nothing
        path = other
        destroy account.storage.load<@FlowToken.Vault>(from: path)
    }
}
//# ForbiddenPath: two constants of one name
import FlowToken from 0x0ae53cb6e3f42a79
import Evil from 0x01cf0e2f2f715450
transaction {
    prepare(account: auth(LoadValue) &Account) {
        if true {
            let path = /storage/nothing
        }
        if true {
            let path = Evil.path()
            destroy account.storage.load<@FlowToken.Vault>(from: path)
        }
    }
}
//# ForbiddenType: everything that is stored, one after the other
import Evil from 0x01cf0e2f2f715450
transaction {
    prepare(account: auth(Storage) &Account) {
        for path in account.storage.storagePaths {
            Evil.take(<- account.storage.load<@AnyResource>(from: path))
        }
    }
}
//# ForbiddenType: no type at all
transaction {
    prepare(account: auth(LoadValue) &Account) {
        let x: String? = account.storage.load(from: /storage/x)
    }
}
//# ForbiddenType: a reference to anything
import Evil from 0x01cf0e2f2f715450
transaction {
    prepare(account: auth(BorrowValue) &Account) {
        Evil.look(account.storage.borrow<&AnyResource>(from: /storage/evm)!)
    }
}
//# ForbiddenType: a list of anything
import Evil from 0x01cf0e2f2f715450
transaction {
    prepare(account: auth(CopyValue) &Account) {
        Evil.look(account.storage.copy<[AnyStruct]>(from: /storage/notes)!)
    }
}
//# ForbiddenType: a capability by its interface is copied: what it can is not in its type
import FungibleToken from 0xee82856bf20e2aa6
import Evil from 0x01cf0e2f2f715450
transaction {
    prepare(account: auth(CopyValue) &Account) {
        Evil.take(account.storage.copy<Capability<&{FungibleToken.Receiver}>>(from: /storage/cap)!)
    }
}
//# ForbiddenPath: a right that was given over one thing is turned to another
import Evil from 0x01cf0e2f2f715450
transaction(id: UInt64) {
    prepare(account: auth(GetStorageCapabilityController) &Account) {
        account.capabilities.storage.getController(byCapabilityID: id)!.retarget(Evil.path())
    }
}

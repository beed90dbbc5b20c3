//# AccountEscapes harm Escapes.Taken: an imported contract gets the account and writes where it likes
import Escapes from 0xf8d6e0586b0a20c7
transaction {
    prepare(account: auth(Storage) &Account) {
        Escapes.help(account)
    }
}
//# AccountEscapes harm Escapes.Taken: the account is kept in a list that a contract gets
import Escapes from 0xf8d6e0586b0a20c7
transaction {
    prepare(account: auth(Storage) &Account) {
        Escapes.helpAll([account])
    }
}
//# AccountEscapes harm Escapes.Taken: its storage is given away
import Escapes from 0xf8d6e0586b0a20c7
transaction {
    prepare(account: auth(Storage) &Account) {
        Escapes.tidy(account.storage)
    }
}
//# AccountEscapes harm Escapes.Taken: a closure over the account is given away
import Escapes from 0xf8d6e0586b0a20c7
transaction {
    prepare(account: auth(Storage) &Account) {
        Escapes.later(fun(path: StoragePath) { account.storage.load<UInt8>(from: path) })
    }
}
//# AccountEscapes: a method of its storage is given away as a function
import Escapes from 0xf8d6e0586b0a20c7
transaction {
    prepare(account: auth(Storage) &Account) {
        Escapes.count(account.storage.type)
    }
}
//# AccountEscapes: another name for the account
transaction {
    prepare(account: auth(Storage) &Account) {
        let a = account
        a.storage.save(1, to: /storage/one)
    }
}
//# AccountEscapes: its capabilities are given away
import Evil from 0x01cf0e2f2f715450
transaction {
    prepare(account: auth(StorageCapabilities, PublishCapability) &Account) {
        Evil.publish(account.capabilities)
    }
}
//# AccountEscapes: a value of a dictionary
import Evil from 0x01cf0e2f2f715450
transaction {
    prepare(account: auth(Storage) &Account) {
        Evil.helpAll({"first": account})
    }
}
//# AccountEscapes: behind a cast
import Evil from 0x01cf0e2f2f715450
transaction {
    prepare(account: auth(Storage) &Account) {
        Evil.help(account as &Account)
    }
}
//# AccountEscapes: chosen by a condition
transaction {
    prepare(account: auth(Storage) &Account) {
        (true ? account : account).storage.save(1, to: /storage/one)
    }
}
//# AccountEscapes: given by the argument of a harmless call
transaction {
    prepare(account: auth(Storage) &Account) {
        log(account)
    }
}
//# AccountEscapes: saved in its own storage
transaction {
    prepare(account: auth(Storage) &Account) {
        account.storage.save(account, to: /storage/me)
    }
}
//# AccountEscapes: called from a local function
transaction {
    prepare(account: auth(Storage) &Account) {
        fun tidy() { account.storage.save(1, to: /storage/one) }
        tidy()
    }
}
//# AccountEscapes: a field of the transaction
transaction {
    let a: &Account
    prepare(account: auth(Storage) &Account) {
        self.a = account
    }
}
//# ForbiddenType: a field with rights: used in execute, far from prepare
transaction {
    let a: auth(Storage) &Account
    prepare(account: auth(Storage) &Account) {
        self.a = account
    }
    execute {
        self.a.storage.save(1, to: /storage/one)
    }
}
//# ForbiddenType: a local function that takes accounts with rights
transaction {
    prepare(account: auth(Storage) &Account) {
        let help = fun(_ a: auth(Storage) &Account) { a.storage.save(1, to: /storage/one) }
    }
}
//# ForbiddenType: `auth` in a cast
import Evil from 0x01cf0e2f2f715450
transaction {
    prepare(account: auth(Storage) &Account) {
        let all = Evil.something() as! auth(Keys, Storage) &Account
    }
}
//# ForbiddenType: `auth` in a type argument of a capability
import Evil from 0x01cf0e2f2f715450
transaction {
    prepare(account: auth(Storage) &Account) {
        let all = Evil.capability().borrow<auth(AddKey) &Account>()
    }
}
//# ForbiddenType: an entitlement of accounts deep in an array of optionals
import Evil from 0x01cf0e2f2f715450
transaction {
    prepare(account: auth(Storage) &Account) {
        let all: [[(auth(Contracts) &Account)?]] = Evil.all()
    }
}
//# ForbiddenType: a part of the account, with rights
import Evil from 0x01cf0e2f2f715450
transaction {
    prepare(account: auth(Storage) &Account) {
        let keys = Evil.part() as! auth(AddKey) &Account.Keys
    }
}
//# AccountEscapes: every capability controller is shown to a contract
import Evil from 0x01cf0e2f2f715450
transaction {
    prepare(account: auth(GetStorageCapabilityController) &Account) {
        account.capabilities.storage.forEachController(forPath: /storage/flowTokenVault, Evil.look)
    }
}
//# AccountEscapes: a controller is given away, and with it the capability that was issued for somebody else
import Evil from 0x01cf0e2f2f715450
transaction {
    prepare(account: auth(GetStorageCapabilityController) &Account) {
        for controller in account.capabilities.storage.getControllers(forPath: /storage/flowTokenVault) {
            Evil.take(controller.capability)
        }
    }
}
//# AccountEscapes: a controller that forEachController passes is given away under another name
import Evil from 0x01cf0e2f2f715450
transaction {
    prepare(account: auth(GetStorageCapabilityController) &Account) {
        account.capabilities.storage.forEachController(
            forPath: /storage/flowTokenVault,
            fun (controller: &StorageCapabilityController): Bool {
                let other = controller
                Evil.take(other)
                return true
            }
        )
    }
}
//# AccountEscapes: a controller given away under a name bound by way of several others, declared before it
import Evil from 0x01cf0e2f2f715450
transaction(id: UInt64) {
    prepare(account: auth(GetStorageCapabilityController) &Account) {
        var last = nil
        while true {
            let third = second!
            Evil.take(third)
            let second = first
            let first = account.capabilities.storage.getController(byCapabilityID: id)
        }
    }
}
//# AccountEscapes: the capability of a controller is narrowed to an interface that anything may have
import ViewResolver from 0xf8d6e0586b0a20c7
import Evil from 0x01cf0e2f2f715450
transaction(id: UInt64) {
    prepare(account: auth(GetStorageCapabilityController) &Account) {
        if let controller = account.capabilities.storage.getController(byCapabilityID: id) {
            Evil.take(controller.capability as! Capability<&{ViewResolver.Resolver}>)
        }
    }
}
//# AccountEscapes: a controller among others, found by its place
import Evil from 0x01cf0e2f2f715450
transaction {
    prepare(account: auth(GetStorageCapabilityController) &Account) {
        let all = account.capabilities.storage.getControllers(forPath: /storage/flowTokenVault)
        let first = all[0]
        Evil.take(first)
    }
}
//# AccountEscapes: a controller that a function of the list takes out of it
import Evil from 0x01cf0e2f2f715450
transaction {
    prepare(account: auth(GetStorageCapabilityController) &Account) {
        let all = account.capabilities.storage.getControllers(forPath: /storage/evm)
        let first = all.removeFirst()
        Evil.take(first.capability)
    }
}
//# AccountEscapes: the capabilities of all controllers, by a function of the list
import Evil from 0x01cf0e2f2f715450
transaction {
    prepare(account: auth(GetStorageCapabilityController) &Account) {
        Evil.takeAll(account.capabilities.storage.getControllers(forPath: /storage/evm)
            .map(fun (c: &StorageCapabilityController): Capability { return c.capability }))
    }
}
//# AccountEscapes: the capability of a controller, by a function of the optional
import Evil from 0x01cf0e2f2f715450
transaction(id: UInt64) {
    prepare(account: auth(GetStorageCapabilityController) &Account) {
        Evil.take(account.capabilities.storage.getController(byCapabilityID: id)
            .map(fun (c: &StorageCapabilityController): Capability { return c.capability }))
    }
}
//# AccountEscapes: a controller's method as a value, with a path that a contract names
import Evil from 0x01cf0e2f2f715450
transaction(id: UInt64) {
    prepare(account: auth(GetStorageCapabilityController) &Account) {
        let retarget = account.capabilities.storage.getController(byCapabilityID: id)!.retarget
        retarget(Evil.path())
    }
}
//# ForbiddenMember: members with the names of JavaScript's objects
transaction {
    prepare(account: auth(Storage) &Account) {
        account.constructor.foo()
    }
}

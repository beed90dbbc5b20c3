//# ForbiddenEntitlement harm Escapes.Taken: a capability of the account is issued and given to a contract
import Escapes from 0xf8d6e0586b0a20c7
transaction {
    prepare(account: auth(IssueAccountCapabilityController) &Account) {
        Escapes.take(account.capabilities.account.issue<auth(Storage, Keys, Contracts) &Account>())
    }
}
//# ForbiddenEntitlement harm flow.InboxValuePublished: issued, and put into the inbox of the thief
transaction {
    prepare(account: auth(IssueAccountCapabilityController, PublishInboxCapability) &Account) {
        account.inbox.publish(account.capabilities.account.issue<auth(Keys) &Account>(), name: "gift", recipient: 0x01cf0e2f2f715450)
    }
}
//# ForbiddenEntitlement harm flow.AccountCapabilityControllerIssued: the coarse entitlement
transaction {
    prepare(account: auth(Storage, Capabilities) &Account) {
        account.storage.save(account.capabilities.account.issue<auth(Keys) &Account>(), to: /storage/later)
    }
}
//# ForbiddenEntitlement: capabilities of the account that exist are looked up
transaction {
    prepare(account: auth(GetAccountCapabilityController) &Account) {
        let all = account.capabilities.account.getControllers()
    }
}
//# ForbiddenMember: account capabilities with storage rights only
transaction {
    prepare(account: auth(StorageCapabilities) &Account) {
        let hidden = account.capabilities.account.issue<&Account>()
    }
}
//# ForbiddenMember: something of the user's is offered in the inbox
import FlowToken from 0x0ae53cb6e3f42a79
import FungibleToken from 0xee82856bf20e2aa6
transaction {
    prepare(account: auth(IssueStorageCapabilityController) &Account) {
        let vault = account.capabilities.storage.issue<auth(FungibleToken.Withdraw) &FlowToken.Vault>(/storage/flowTokenVault)
        account.inbox.publish(vault, name: "vault", recipient: 0x01cf0e2f2f715450)
    }
}
//# ForbiddenMember: something unseen is claimed from the inbox
transaction {
    prepare(account: auth(ClaimInboxCapability) &Account) {
        let given = account.inbox.claim<&AnyStruct>("gift", provider: 0x01cf0e2f2f715450)
    }
}
//# ForbiddenType: a stored capability of the account is copied out
transaction {
    prepare(account: auth(CopyValue) &Account) {
        let all = account.storage.copy<Capability<auth(Storage, Contracts, Keys, Inbox, Capabilities) &Account>>(from: /storage/later)!
        all.borrow()!
    }
}
//# ForbiddenType: copied without rights in its type: the value has them all the same
transaction {
    prepare(account: auth(CopyValue) &Account) {
        let link = account.storage.copy<Capability<&Account>>(from: /storage/later)!
    }
}
//# ForbiddenType: a capability without a type is copied and made what it is
import Evil from 0x01cf0e2f2f715450
transaction {
    prepare(account: auth(CopyValue) &Account) {
        Evil.take(account.storage.copy<Capability>(from: /storage/later)!)
    }
}
//# ForbiddenType: a map of links between accounts is borrowed with the right to change it
transaction {
    prepare(account: auth(BorrowValue) &Account) {
        let links = account.storage.borrow<auth(Mutate) &{Address: Capability<&Account>}>(from: /storage/parentLinks)!
    }
}
//# ForbiddenType: HybridCustody's owned account is borrowed, and could be given away
import HybridCustody from 0xd8a7e05a7ac670c0
transaction(to: Address) {
    prepare(account: auth(BorrowValue) &Account) {
        let owned = account.storage.borrow<auth(HybridCustody.Owner) &HybridCustody.OwnedAccount>(from: HybridCustody.OwnedAccountStoragePath)!
    }
}
//# ForbiddenMember: giveOwnership, which revokes every key
import HybridCustody from 0xd8a7e05a7ac670c0
transaction(to: Address) {
    prepare(account: auth(BorrowValue) &Account) {
        let owned = account.storage.borrow<auth(HybridCustody.Owner) &HybridCustody.OwnedAccount>(from: /storage/HybridCustodyOwnedAccount)!
        owned.giveOwnership(to: to)
    }
}
//# ForbiddenType: HybridCustody's private interface of the owned account: another factory
import HybridCustody from 0xd8a7e05a7ac670c0
import CapabilityFactory from 0xd8a7e05a7ac670c0
transaction(parent: Address, factory: Address) {
    prepare(account: auth(BorrowValue) &Account) {
        let owned = account.storage.borrow<auth(HybridCustody.Owner) &{HybridCustody.OwnedAccountPrivate}>(from: /storage/HybridCustodyChild_0xd8a7e05a7ac670c0)!
        let other = getAccount(factory).capabilities.get<&CapabilityFactory.Manager>(/public/CapabilityFactory_0xd8a7e05a7ac670c0)
        owned.setCapabilityFactoryForParent(parent: parent, cap: other)
    }
}
//# ForbiddenType: the owned account is taken out, with the right over the account in it
import HybridCustody from 0xd8a7e05a7ac670c0
import Evil from 0x01cf0e2f2f715450
transaction {
    prepare(account: auth(LoadValue) &Account) {
        Evil.take(<-account.storage.load<@HybridCustody.OwnedAccount>(from: /storage/HybridCustodyChild_0xd8a7e05a7ac670c0)!)
    }
}
//# ForbiddenEntitlement: HybridCustody's own set-up, with a factory of the attacker's
import HybridCustody from 0xd8a7e05a7ac670c0
transaction {
    prepare(account: auth(Storage, Capabilities) &Account) {
        let all = account.capabilities.account.issue<auth(Storage, Contracts, Keys, Inbox, Capabilities) &Account>()
        account.storage.save(<-HybridCustody.createOwnedAccount(acct: all), to: /storage/HybridCustodyChild_0xd8a7e05a7ac670c0)
    }
}
//# ForbiddenType: the owned account under another name, behind an interface
import HybridCustody as Family from 0xd8a7e05a7ac670c0
import ViewResolver from 0xf8d6e0586b0a20c7
transaction {
    prepare(account: auth(IssueStorageCapabilityController) &Account) {
        account.capabilities.storage.issue<auth(Family.Owner) &{ViewResolver.Resolver}>(/storage/HybridCustodyOwnedAccount)
    }
}
//# ForbiddenMember: a capability whose type is made when the script runs
transaction {
    prepare(account: auth(IssueStorageCapabilityController) &Account) {
        let type = ReferenceType(entitlements: ["A.d8a7e05a7ac670c0.HybridCustody.Owner"], type: CompositeType("A.d8a7e05a7ac670c0.HybridCustody.OwnedAccount")!)!
        account.capabilities.storage.issueWithType(/storage/HybridCustodyOwnedAccount, type: type)
    }
}

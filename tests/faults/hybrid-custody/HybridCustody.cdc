import "ViewResolver"
import "CapabilityFactory"
import "CapabilityFilter"

/// The parts of HybridCustody's public interface that the templates and the parents script call, for a
/// chain that does not have it.
access(all) contract HybridCustody {
    access(all) entitlement Owner
    access(all) entitlement Child
    access(all) entitlement Manage

    access(all) let OwnedAccountStoragePath: StoragePath
    access(all) let OwnedAccountPublicPath: PublicPath
    access(all) let ManagerStoragePath: StoragePath
    access(all) let ManagerPublicPath: PublicPath

    access(all) resource interface OwnedAccountPublic {
        access(all) view fun getParentAddresses(): [Address]
        access(all) view fun getParentStatuses(): {Address: Bool}
        access(all) view fun getRedeemedStatus(addr: Address): Bool?
    }

    access(all) resource interface AccountPublic {
        access(all) view fun getAddress(): Address
    }

    access(all) resource interface AccountPrivate {
        access(Child) view fun getCapability(controllerID: UInt64, type: Type): Capability?
        access(contract) fun redeemedCallback(_ addr: Address)
        access(contract) fun parentRemoveChildCallback(parent: Address)
    }

    access(all) resource interface ManagerPublic {
        access(all) view fun getChildAddresses(): [Address]
        access(contract) fun removeParentCallback(child: Address)
    }

    access(all) resource Manager: ManagerPublic {
        access(self) let children: {Address: Capability<auth(Child) &{AccountPrivate, AccountPublic, ViewResolver.Resolver}>}

        access(Manage) fun addAccount(cap: Capability<auth(Child) &{AccountPrivate, AccountPublic, ViewResolver.Resolver}>) {
            pre { self.children[cap.address] == nil: "a child already" }
            let child = cap.borrow() ?? panic("not a live child")
            self.children[cap.address] = cap
            child.redeemedCallback(self.owner!.address)
        }
        access(Manage) fun borrowAccount(addr: Address): auth(Child) &{AccountPrivate, AccountPublic, ViewResolver.Resolver}? {
            return self.children[addr]?.borrow() ?? nil
        }
        access(Manage) fun removeChild(addr: Address) {
            let cap = self.children.remove(key: addr) ?? panic("no child")
            cap.borrow()?.parentRemoveChildCallback(parent: self.owner!.address)
        }
        access(all) view fun getChildAddresses(): [Address] { return self.children.keys }
        access(contract) fun removeParentCallback(child: Address) { self.children.remove(key: child) }
        init() { self.children = {} }
    }

    access(all) resource Delegator {}

    access(all) resource ChildAccount: AccountPrivate, AccountPublic, ViewResolver.Resolver {
        access(self) let owned: Capability<&OwnedAccount>
        access(self) let factory: Capability<&CapabilityFactory.Manager>
        access(self) let filter: Capability<&{CapabilityFilter.Filter}>

        access(Child) view fun getCapability(controllerID: UInt64, type: Type): Capability? {
            let owned = self.owned.borrow() ?? panic("the account is gone")
            if let found = self.factory.borrow()?.getFactory(type) ?? nil {
                if let cap = found.getCapability(acct: owned._borrowAccount(), controllerID: controllerID) {
                    if self.filter.borrow()?.allowed(cap: cap) == true { return cap }
                }
            }
            return nil
        }
        access(all) view fun getAddress(): Address { return self.owned.address }
        access(all) view fun getViews(): [Type] { return [] }
        access(all) fun resolveView(_ view: Type): AnyStruct? { return nil }
        access(contract) fun redeemedCallback(_ addr: Address) { self.owned.borrow()!.setRedeemed(addr) }
        access(contract) fun parentRemoveChildCallback(parent: Address) { self.owned.borrow()?.remove(parent) }

        init(_ owned: Capability<&OwnedAccount>, _ factory: Capability<&CapabilityFactory.Manager>, _ filter: Capability<&{CapabilityFilter.Filter}>) {
            self.owned = owned
            self.factory = factory
            self.filter = filter
        }
    }

    access(all) resource OwnedAccount: OwnedAccountPublic, ViewResolver.Resolver {
        access(self) var acct: Capability<auth(Storage, Contracts, Keys, Inbox, Capabilities) &Account>
        access(self) let parents: {Address: Bool}
        access(self) var pendingOwner: Address?
        access(self) var currentlyOwned: Bool

        access(Owner) fun publishToParent(
            parentAddress: Address,
            factory: Capability<&CapabilityFactory.Manager>,
            filter: Capability<&{CapabilityFilter.Filter}>
        ) {
            pre { self.parents[parentAddress] == nil: "offered already" }
            let acct = self._borrowAccount()
            let identifier = HybridCustody.getChildAccountIdentifier(parentAddress)
            let path = StoragePath(identifier: identifier)!
            // Published, and left behind in public when the link is removed.
            let delegator = HybridCustody.getCapabilityDelegatorIdentifier(parentAddress)
            acct.storage.save(<-create Delegator(), to: StoragePath(identifier: delegator)!)
            acct.capabilities.publish(
                acct.capabilities.storage.issue<&Delegator>(StoragePath(identifier: delegator)!), at: PublicPath(identifier: delegator)!)
            let owned = acct.capabilities.storage.issue<&OwnedAccount>(HybridCustody.OwnedAccountStoragePath)
            acct.storage.save(<-create ChildAccount(owned, factory, filter), to: path)
            acct.inbox.publish(
                acct.capabilities.storage.issue<auth(Child) &{AccountPrivate, AccountPublic, ViewResolver.Resolver}>(path),
                name: identifier, recipient: parentAddress)
            self.parents[parentAddress] = false
        }
        access(Owner) fun removeParent(parent: Address): Bool { return self.remove(parent) }
        access(contract) fun remove(_ parent: Address): Bool {
            if self.parents.remove(key: parent) == nil { return false }
            let acct = self._borrowAccount()
            let path = StoragePath(identifier: HybridCustody.getChildAccountIdentifier(parent))!
            for controller in acct.capabilities.storage.getControllers(forPath: path) { controller.delete() }
            destroy acct.storage.load<@AnyResource>(from: path)
            destroy acct.storage.load<@AnyResource>(
                from: StoragePath(identifier: HybridCustody.getCapabilityDelegatorIdentifier(parent))!)
            getAccount(parent).capabilities.borrow<&{ManagerPublic}>(HybridCustody.ManagerPublicPath)
                ?.removeParentCallback(child: acct.address)
            return true
        }
        access(Owner) fun seal() {
            let keys = self._borrowAccount().keys
            keys.forEach(fun (key: AccountKey): Bool {
                if !key.isRevoked { keys.revoke(keyIndex: key.keyIndex) }
                return true
            })
            self.currentlyOwned = false
        }
        access(Owner) fun giveOwnership(to: Address) {
            self.seal()
            self.pendingOwner = to
            self.currentlyOwned = true
        }
        access(contract) view fun _borrowAccount(): auth(Storage, Contracts, Keys, Inbox, Capabilities) &Account {
            return self.acct.borrow() ?? panic("no right over the account")
        }
        access(contract) fun setRedeemed(_ addr: Address) {
            pre { self.parents[addr] != nil: "not offered" }
            self.parents[addr] = true
        }
        access(all) view fun check(): Bool { return self.acct.check() }
        access(all) view fun getAddress(): Address { return self.acct.address }
        access(all) view fun getPendingOwner(): Address? { return self.pendingOwner }
        access(all) view fun getOwner(): Address? { return self.currentlyOwned ? self.owner!.address : nil }
        access(all) view fun getParentAddresses(): [Address] { return self.parents.keys }
        access(all) view fun getParentStatuses(): {Address: Bool} { return self.parents }
        access(all) view fun getRedeemedStatus(addr: Address): Bool? { return self.parents[addr] }
        access(all) view fun getViews(): [Type] { return [] }
        access(all) fun resolveView(_ view: Type): AnyStruct? { return nil }

        init(_ acct: Capability<auth(Storage, Contracts, Keys, Inbox, Capabilities) &Account>) {
            self.acct = acct
            self.parents = {}
            self.pendingOwner = nil
            self.currentlyOwned = true
        }
    }

    access(all) view fun getChildAccountIdentifier(_ addr: Address): String {
        return "ChildAccount_".concat(addr.toString())
    }
    access(all) view fun getCapabilityDelegatorIdentifier(_ addr: Address): String {
        return "ChildCapabilityDelegator_".concat(addr.toString())
    }
    access(all) fun createOwnedAccount(
        acct: Capability<auth(Storage, Contracts, Keys, Inbox, Capabilities) &Account>
    ): @OwnedAccount {
        pre { acct.check(): "not a right over an account" }
        return <-create OwnedAccount(acct)
    }
    access(all) fun createManager(filter: Capability<&{CapabilityFilter.Filter}>?): @Manager { return <-create Manager() }

    init() {
        let owned = "HybridCustodyChild_".concat(self.account.address.toString())
        self.OwnedAccountStoragePath = StoragePath(identifier: owned)!
        self.OwnedAccountPublicPath = PublicPath(identifier: owned)!
        let manager = "HybridCustodyManager_".concat(self.account.address.toString())
        self.ManagerStoragePath = StoragePath(identifier: manager)!
        self.ManagerPublicPath = PublicPath(identifier: manager)!
    }
}

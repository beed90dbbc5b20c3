/// The parts of HybridCustody's public interface that the service reads, for a chain that does not have it.
access(all) contract HybridCustody {
    access(all) let OwnedAccountStoragePath: StoragePath
    access(all) let ManagerStoragePath: StoragePath
    access(all) let ManagerPublicPath: PublicPath

    access(all) resource interface ManagerPublic {
        access(all) fun getChildAddresses(): [Address]
    }

    access(all) resource Manager: ManagerPublic {
        access(self) let children: [Address]

        access(all) fun getChildAddresses(): [Address] { return self.children }
        access(all) fun setChildren(_ children: [Address]) {
            while self.children.length > 0 { self.children.removeLast() }
            self.children.appendAll(children)
        }
        init() { self.children = [] }
    }

    access(all) resource OwnedAccount {
        access(self) let parents: {Address: Bool}

        access(all) fun getParentStatuses(): {Address: Bool} { return self.parents }
        access(all) fun setParent(_ parent: Address, redeemed: Bool?) {
            self.parents.remove(key: parent)
            if redeemed != nil { self.parents[parent] = redeemed! }
        }
        init() { self.parents = {} }
    }

    access(all) fun createManager(): @Manager { return <-create Manager() }
    access(all) fun createOwnedAccount(): @OwnedAccount { return <-create OwnedAccount() }

    init() {
        self.OwnedAccountStoragePath = /storage/HybridCustodyOwnedAccount
        self.ManagerStoragePath = /storage/HybridCustodyManager
        self.ManagerPublicPath = /public/HybridCustodyManager
    }
}

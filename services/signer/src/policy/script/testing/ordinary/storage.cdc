//# nothing at all []
transaction { prepare(signer: &Account) {} }
//# a note ["String remember the milk"]
transaction(note: String) {
    prepare(signer: auth(SaveValue, LoadValue) &Account) {
        signer.storage.load<String>(from: /storage/note)
        signer.storage.save(note, to: /storage/note)
    }
}
//# a counter []
transaction {
    prepare(signer: auth(SaveValue, LoadValue) &Account) {
        let count = signer.storage.load<UInt64>(from: /storage/count) ?? 0
        signer.storage.save(count + 1, to: /storage/count)
    }
}
//# a list that grows in place ["String one more"]
transaction(item: String) {
    prepare(signer: auth(SaveValue, BorrowValue) &Account) {
        if signer.storage.type(at: /storage/items) == nil {
            let none: [String] = []
            signer.storage.save(none, to: /storage/items)
        }
        signer.storage.borrow<auth(Insert) &[String]>(from: /storage/items)!.append(item)
    }
}
//# what is stored is counted []
transaction {
    prepare(signer: auth(Storage) &Account) {
        var count = 0
        signer.storage.forEachStored(fun (path: StoragePath, type: Type): Bool {
            count = count + 1
            return true
        })
        log("\(signer.address) keeps \(count) things in \(signer.storage.used) of \(signer.storage.capacity) bytes")
    }
}
//# a profile, shown to all ["String somebody"]
transaction(name: String) {
    prepare(signer: auth(SaveValue, LoadValue, IssueStorageCapabilityController, PublishCapability, UnpublishCapability) &Account) {
        signer.storage.load<{String: String}>(from: /storage/profile)
        signer.storage.save({"name": name}, to: /storage/profile)
        signer.capabilities.unpublish(/public/profile)
        signer.capabilities.publish(signer.capabilities.storage.issue<&{String: String}>(/storage/profile), at: /public/profile)
    }
}

//# ForbiddenEntitlement harm flow.AccountContractAdded: a contract is deployed, whose init gets the account
transaction {
    prepare(account: auth(AddContract) &Account) {
        account.contracts.add(name: "Thief", code: "access(all) contract Thief { init() { self.account.keys.add(publicKey: PublicKey(publicKey: \"$KEY\".decodeHex(), signatureAlgorithm: SignatureAlgorithm.ECDSA_P256), hashAlgorithm: HashAlgorithm.SHA3_256, weight: 1000.0) } }".utf8)
    }
}
//# ForbiddenEntitlement harm flow.AccountContractAdded: a contract that keeps acting for the account
transaction {
    prepare(account: auth(Contracts) &Account) {
        account.contracts.add(name: "Agent", code: "access(all) contract Agent { access(all) fun act() { self.account.storage.save(1, to: /storage/agent) } }".utf8)
    }
}
//# ForbiddenEntitlement: a contract is changed under those who trust it
transaction(code: String) {
    prepare(account: auth(UpdateContract) &Account) {
        account.contracts.update(name: "Mine", code: code.utf8)
    }
}
//# ForbiddenEntitlement: a contract is removed, and with it what it keeps
transaction {
    prepare(account: auth(RemoveContract) &Account) {
        account.contracts.remove(name: "Mine")
    }
}
//# ForbiddenMember: contracts borrowed by a name that is computed: what runs is not in the script
transaction(host: Address, name: String) {
    prepare(account: auth(Storage) &Account) {
        getAccount(host).contracts.borrow<&AnyStruct>(name: name)
    }
}
//# ScriptNotUnderstood: a contract beside the transaction
access(all) contract Thief { init() {} }
transaction {
    prepare(account: auth(Storage) &Account) {}
}
//# ScriptNotUnderstood: a contract only
access(all) contract Thief { init() { self.account.storage.save(1, to: /storage/one) } }
//# ScriptNotUnderstood: a pragma, which once linked accounts
#allowAccountLinking
transaction {
    prepare(account: auth(Storage) &Account) {}
}
//# ScriptNotUnderstood: a function of its own at the top
access(all) fun helper(_ account: auth(Storage) &Account) {}
transaction {
    prepare(account: auth(Storage) &Account) { helper(account) }
}

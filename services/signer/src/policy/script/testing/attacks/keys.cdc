//# ForbiddenEntitlement harm flow.AccountKeyAdded: a key of weight 1000 is added: its holder signs alone
transaction {
    prepare(account: auth(AddKey) &Account) {
        account.keys.add(
            publicKey: PublicKey(publicKey: "$KEY".decodeHex(), signatureAlgorithm: SignatureAlgorithm.ECDSA_P256),
            hashAlgorithm: HashAlgorithm.SHA3_256, weight: 1000.0)
    }
}
//# ForbiddenEntitlement harm flow.AccountKeyAdded: the same under the coarse entitlement
transaction {
    prepare(account: auth(Keys) &Account) {
        account.keys.add(
            publicKey: PublicKey(publicKey: "$KEY".decodeHex(), signatureAlgorithm: SignatureAlgorithm.ECDSA_P256),
            hashAlgorithm: HashAlgorithm.SHA3_256, weight: 1000.0)
    }
}
//# ForbiddenEntitlement harm flow.AccountKeyAdded: the entitlement hides behind a comment
transaction {
    prepare(account: auth(
        BorrowValue, /* for the vault */
        SaveValue, // for the receipt
        AddKey
    ) &Account) {
        account
            .keys /* not what it looks like */
            .add(
                publicKey: PublicKey(publicKey: "$KEY".decodeHex(), signatureAlgorithm: SignatureAlgorithm.ECDSA_P256),
                hashAlgorithm: HashAlgorithm.SHA3_256, weight: 1000.0)
    }
}
//# ForbiddenEntitlement harm flow.AccountKeyAdded: added by a local function that looks like an error handler
transaction {
    prepare(account: auth(AddKey) &Account) {
        fun report(_ message: String) {
            account.keys.add(
                publicKey: PublicKey(publicKey: message.decodeHex(), signatureAlgorithm: SignatureAlgorithm.ECDSA_P256),
                hashAlgorithm: HashAlgorithm.SHA3_256, weight: 1000.0)
        }
        report("$KEY")
    }
}
//# ForbiddenEntitlement harm flow.AccountKeyRemoved: the server key is revoked: the account is locked
transaction {
    prepare(account: auth(RevokeKey) &Account) {
        account.keys.revoke(keyIndex: 0)
    }
}
//# ForbiddenEntitlement harm flow.AccountKeyRemoved: every key is revoked
transaction {
    prepare(account: auth(Keys) &Account) {
        var i = 0
        while i < 2 {
            account.keys.revoke(keyIndex: i)
            i = i + 1
        }
    }
}
//# ForbiddenEntitlement: either of two entitlements: the chain takes what the account has
transaction {
    prepare(account: auth(AddKey | Storage) &Account) {
        account.storage.save(1, to: /storage/one)
    }
}
//# ForbiddenEntitlement: asked for, and used by nothing that the script shows
transaction {
    prepare(account: auth(Storage, Keys) &Account) {
        account.storage.save(1, to: /storage/one)
    }
}
//# ForbiddenEntitlement: an entitlement of an imported contract, named like a harmless one
import Evil from 0x01cf0e2f2f715450
transaction {
    prepare(account: auth(Evil.Storage) &Account) {}
}
//# ForbiddenEntitlement: an entitlement mapping
import Evil from 0x01cf0e2f2f715450
transaction {
    prepare(account: auth(mapping Evil.Everything) &Account) {}
}
//# ForbiddenMember: keys without an entitlement: what the chain would refuse tomorrow's Cadence may allow
transaction {
    prepare(account: auth(Storage) &Account) {
        account.keys.revoke(keyIndex: 0)
    }
}
//# ForbiddenMember: keys behind an optional chain
transaction {
    prepare(account: &Account) {
        let maybe: &Account? = getAccount(0x01)
        maybe?.keys?.get(keyIndex: 0)
    }
}
//# ForbiddenMember: the keys as a value
transaction {
    prepare(account: auth(Storage) &Account) {
        let all = account.keys
        all.revoke(keyIndex: 0)
    }
}
//# ForbiddenMember: keys in the test of a condition, in prepare's shadow
transaction {
    prepare(account: auth(Storage) &Account) {
        assert(account.keys.count > 0, message: "no key")
    }
}

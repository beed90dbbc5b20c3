/** Puts another recovery key in the place of the one that is there, in one transaction. */
export const REPLACE_RECOVERY_KEY_SCRIPT = `/// Replaces the recovery key oldKey by newKey, at once. serverKey is the account's present server key.
transaction(serverKey: String, oldKey: String, newKey: String, isSecp256k1: Bool) {
    prepare(account: auth(AddKey, RevokeKey) &Account) {
        let server = serverKey.decodeHex()
        let old = oldKey.decodeHex()
        let new = PublicKey(
            publicKey: newKey.decodeHex(),
            signatureAlgorithm: isSecp256k1 ? SignatureAlgorithm.ECDSA_secp256k1 : SignatureAlgorithm.ECDSA_P256)
        let x = new.publicKey.slice(from: 0, upTo: 32)

        var servers = 0
        let oldIndexes: [Int] = []
        account.keys.forEach(fun (key: AccountKey): Bool {
            if key.isRevoked { return true }
            let bytes = key.publicKey.publicKey
            // A device key as recovery key too would weigh 1000 and act alone. An equal x is that key or its negation.
            assert(bytes.slice(from: 0, upTo: 32) != x, message: "key is on the account already")
            if key.weight == 1.0 { return true }

            // Nothing heavy but the server key may stay: two recovery keys would act alone.
            // The hash tells the roles apart, so that swapped arguments cannot revoke the server key.
            // (rawValue: in Cadence 1.10 two enum values never compare equal.)
            assert(key.weight == 999.0, message: "another heavy key is active")
            if key.hashAlgorithm.rawValue == HashAlgorithm.SHA3_256.rawValue {
                assert(bytes == server, message: "another heavy key is active")
                servers = servers + 1
            } else {
                assert(bytes == old, message: "another heavy key is active")
                oldIndexes.append(key.keyIndex)
            }
            return true
        })
        assert(servers == 1, message: "server key is not active")
        assert(oldIndexes.length > 0, message: "no such recovery key")

        for index in oldIndexes { account.keys.revoke(keyIndex: index) }
        account.keys.add(publicKey: new, hashAlgorithm: HashAlgorithm.SHA2_256, weight: 999.0)
    }
}
`;

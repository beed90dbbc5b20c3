/** Replaces the account's server key in one transaction. `oldKey`, `newKey`: 128 hex digits. */
export const ROTATE_SERVER_KEY_SCRIPT = `/// Replaces the server key \`oldKey\` by \`newKey\`, at once: never two server keys, which would act alone.
transaction(oldKey: String, newKey: String) {
    prepare(account: auth(AddKey, RevokeKey) &Account) {
        let old = oldKey.decodeHex()
        let new = PublicKey(
            publicKey: newKey.decodeHex(),
            signatureAlgorithm: SignatureAlgorithm.ECDSA_P256)
        let x = new.publicKey.slice(from: 0, upTo: 32)

        let indexes: [Int] = []
        account.keys.forEach(fun (key: AccountKey): Bool {
            let bytes = key.publicKey.publicKey
            // A user's key (or its negation: equal x) as server key too would act alone.
            // A retired server key may have leaked, so revoked keys count.
            assert(bytes.slice(from: 0, upTo: 32) != x, message: "key is or was on the account")
            if !key.isRevoked && bytes == old {
                // Naming the recovery key as the old one would leave two server keys.
                // (rawValue: in Cadence 1.10 two enum values never compare equal.)
                assert(key.weight == 999.0 && key.hashAlgorithm.rawValue == HashAlgorithm.SHA3_256.rawValue,
                    message: "not a server key")
                indexes.append(key.keyIndex)
            }
            return true
        })
        assert(indexes.length > 0, message: "no such server key")

        for index in indexes { account.keys.revoke(keyIndex: index) }
        account.keys.add(publicKey: new, hashAlgorithm: HashAlgorithm.SHA3_256, weight: 999.0)
    }
}
`;

/** Adds one user key to the account that authorizes. */
export const ADD_USER_KEY_SCRIPT = `/// Adds one user key (device or passkey): weight 1, SHA2-256.
transaction(userKey: String, isSecp256k1: Bool) {
    prepare(account: auth(AddKey) &Account) {
        let new = PublicKey(
            publicKey: userKey.decodeHex(),
            signatureAlgorithm: isSecp256k1 ? SignatureAlgorithm.ECDSA_secp256k1 : SignatureAlgorithm.ECDSA_P256)
        let x = new.publicKey.slice(from: 0, upTo: 32)

        var active = 0
        account.keys.forEach(fun (key: AccountKey): Bool {
            if key.isRevoked { return true }
            // Whatever algorithm, hash or weight: a server or recovery key added again would act alone, a device key
            // added again would count twice. An equal x is that key or its negation: the same holder signs for both.
            assert(key.publicKey.publicKey.slice(from: 0, upTo: 32) != x, message: "key is on the account already")
            active = active + 1
            return true
        })
        // A thousand user keys together weigh 1000 and need no server.
        assert(active < 100, message: "too many keys")

        account.keys.add(publicKey: new, hashAlgorithm: HashAlgorithm.SHA2_256, weight: 1.0)
    }
}
`;

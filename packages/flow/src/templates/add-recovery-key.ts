/** Adds the one recovery key of the account that authorizes. */
export const ADD_RECOVERY_KEY_SCRIPT = `/// Adds the recovery key: weight 999, SHA2-256. serverKey is the account's present server key.
transaction(serverKey: String, recoveryKey: String, isSecp256k1: Bool) {
    prepare(account: auth(AddKey) &Account) {
        let server = serverKey.decodeHex()
        let new = PublicKey(
            publicKey: recoveryKey.decodeHex(),
            signatureAlgorithm: isSecp256k1 ? SignatureAlgorithm.ECDSA_secp256k1 : SignatureAlgorithm.ECDSA_P256)
        let x = new.publicKey.slice(from: 0, upTo: 32)

        var servers = 0
        account.keys.forEach(fun (key: AccountKey): Bool {
            if key.isRevoked { return true }
            let bytes = key.publicKey.publicKey
            // A device key as recovery key too would weigh 1000 and act alone. An equal x is that key or its negation.
            assert(bytes.slice(from: 0, upTo: 32) != x, message: "key is on the account already")
            if key.weight != 1.0 {
                // Two recovery keys would weigh 1998 and need neither device nor server.
                assert(key.weight == 999.0 && bytes == server, message: "another heavy key is active")
                servers = servers + 1
            }
            return true
        })
        assert(servers == 1, message: "server key is not active")

        account.keys.add(publicKey: new, hashAlgorithm: HashAlgorithm.SHA2_256, weight: 999.0)
    }
}
`;

/** Takes the recovery key off the account that authorizes. */
export const REVOKE_RECOVERY_KEY_SCRIPT = `/// Revokes the recovery key, at every index that it has. serverKey is the account's present server key.
transaction(serverKey: String, recoveryKey: String) {
    prepare(account: auth(RevokeKey) &Account) {
        let server = serverKey.decodeHex()
        let recovery = recoveryKey.decodeHex()

        var servers = 0
        var users = 0
        let indexes: [Int] = []
        account.keys.forEach(fun (key: AccountKey): Bool {
            if key.isRevoked { return true }
            let bytes = key.publicKey.publicKey
            if bytes == recovery {
                // Naming the server key would take the service out, naming a user key could take the last one.
                // (rawValue: in Cadence 1.10 two enum values never compare equal.)
                assert(key.weight == 999.0 && key.hashAlgorithm.rawValue == HashAlgorithm.SHA2_256.rawValue,
                    message: "not a recovery key")
                indexes.append(key.keyIndex)
            } else if key.weight == 1.0 {
                users = users + 1
            } else if key.weight == 999.0 && bytes == server {
                servers = servers + 1
            }
            return true
        })
        assert(indexes.length > 0, message: "no such recovery key")
        // What stays must still weigh 1000.
        assert(servers == 1 && users > 0, message: "nobody could act any more")

        for index in indexes { account.keys.revoke(keyIndex: index) }
    }
}
`;

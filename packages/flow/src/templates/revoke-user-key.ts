/** Takes one user key off the account that authorizes; never the last one. */
export const REVOKE_USER_KEY_SCRIPT = `/// Revokes a user key, at every index that it has.
transaction(userKey: String) {
    prepare(account: auth(RevokeKey) &Account) {
        let bytes = userKey.decodeHex()

        let indexes: [Int] = []
        var others = 0
        account.keys.forEach(fun (key: AccountKey): Bool {
            if key.isRevoked { return true }
            if key.publicKey.publicKey == bytes {
                // Naming the server key would take the service out, naming the recovery key skips its time lock.
                assert(key.weight == 1.0, message: "not a user key")
                indexes.append(key.keyIndex)
            } else if key.weight == 1.0 {
                others = others + 1
            }
            return true
        })
        assert(indexes.length > 0, message: "no such user key")
        // Without a user key nobody but the recovery key could ever act, and without that nobody.
        assert(others > 0, message: "the last user key")

        for index in indexes { account.keys.revoke(keyIndex: index) }
    }
}
`;

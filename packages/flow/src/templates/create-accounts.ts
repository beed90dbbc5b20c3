import type { PublicKey } from "@countersign/keys";
import { cadenceArray, cadenceBool, cadenceString, encodeCadence } from "../codec/cadence-json.ts";

const CADENCE = `import EVM from 0xEVM

/// Creates up to ten accounts, each with its server key, its first user key and an EVM address.
/// Key i of each list belongs to account i. Keys are 64 bytes x||y in hex, lower case, without prefix.
transaction(serverKeys: [String], userKeys: [String], userKeysAreSecp256k1: [Bool]) {
    prepare(creator: auth(BorrowValue) &Account) {
        // Ten accounts with an EVM address are what fits below the computation limit.
        assert(serverKeys.length > 0 && serverKeys.length <= 10, message: "one to ten accounts")
        assert(userKeys.length == serverKeys.length && userKeysAreSecp256k1.length == serverKeys.length,
            message: "lists of unequal length")

        // The keys that come from outside, before the first account: a bad one must not cost nine accounts.
        let users: [PublicKey] = []
        for i, userKey in userKeys {
            users.append(PublicKey(
                publicKey: userKey.decodeHex(),
                signatureAlgorithm: userKeysAreSecp256k1[i]
                    ? SignatureAlgorithm.ECDSA_secp256k1
                    : SignatureAlgorithm.ECDSA_P256))
        }

        for i, user in users {
            let server = PublicKey(
                publicKey: serverKeys[i].decodeHex(),
                signatureAlgorithm: SignatureAlgorithm.ECDSA_P256)
            // One key in both roles would weigh 1000 and act alone. An equal x is that key or its negation.
            assert(server.publicKey.slice(from: 0, upTo: 32) != user.publicKey.slice(from: 0, upTo: 32),
                message: "server key and user key are the same")

            let account = Account(payer: creator)
            // SHA3-256 marks the server key, SHA2-256 every key of the user: see rotate-server-key.
            account.keys.add(publicKey: server, hashAlgorithm: HashAlgorithm.SHA3_256, weight: 999.0)
            account.keys.add(publicKey: user, hashAlgorithm: HashAlgorithm.SHA2_256, weight: 1.0)

            account.storage.save(<-EVM.createCadenceOwnedAccount(), to: /storage/evm)
            account.capabilities.publish(
                account.capabilities.storage.issue<&EVM.CadenceOwnedAccount>(/storage/evm),
                at: /public/evm)
        }
    }
}
`;

/**
 * Returns the text of the creation transaction on a network; `evmContract`: 16 hex digits.
 * @example const script = createAccountsScript("e467b9dd11fa00df");
 */
export const createAccountsScript = (evmContract: string): string => CADENCE.replace("0xEVM", `0x${evmContract}`);

/** The keys of one account to create. */
export interface AccountToCreate {
  /** P-256. */
  readonly serverKey: PublicKey;
  /** P-256 or secp256k1. */
  readonly userKey: PublicKey;
}

/**
 * Returns the exact arguments of the creation transaction: account i has key i of each list.
 * @example const args = createAccountsArguments(accounts);
 */
export const createAccountsArguments = (accounts: readonly AccountToCreate[]): string[] =>
  [
    cadenceArray(accounts.map((account) => cadenceString(account.serverKey.publicKey))),
    cadenceArray(accounts.map((account) => cadenceString(account.userKey.publicKey))),
    cadenceArray(accounts.map((account) => cadenceBool(account.userKey.algorithm === "ES256K"))),
  ].map(encodeCadence);

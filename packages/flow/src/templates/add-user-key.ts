import { type PublicKey, PublicKeyError, parsePublicKey } from "@countersign/keys";
import { cadenceBool, cadenceString, encodeCadence } from "../codec/cadence-json.ts";
import type { TransactionPayload } from "../codec/transaction.ts";
import { MAX_COMPUTATION } from "./account-model.ts";

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

/** Returns the exact arguments of the transaction that adds `userKey`. */
export const addUserKeyArguments = (userKey: PublicKey): string[] =>
  [cadenceString(userKey.publicKey), cadenceBool(userKey.algorithm === "ES256K")].map(encodeCadence);

/** Thrown when the transaction runs the template with invalid arguments, or does more than the template. */
export class TemplateError extends Error {
  override readonly name = "TemplateError";
}

/** Returns a payload of the template; the caller names proposer and payer. */
export const addUserKeyPayload = (
  userKey: PublicKey,
  chosen: Pick<TransactionPayload, "referenceBlockId" | "proposalKey" | "payer"> & { account: string },
): TransactionPayload => ({
  script: ADD_USER_KEY_SCRIPT,
  arguments: addUserKeyArguments(userKey),
  referenceBlockId: chosen.referenceBlockId,
  // Every key that an account ever had makes it dearer.
  gasLimit: MAX_COMPUTATION,
  proposalKey: chosen.proposalKey,
  payer: chosen.payer,
  authorizers: [chosen.account],
});

/**
 * Returns the key that a transaction adds; undefined where it runs another script. Text and arguments are
 * compared byte for byte with our own, so that the person is shown exactly what runs. Errors: TemplateError.
 */
export function readAddUserKey(payload: Pick<TransactionPayload, "script" | "arguments">): PublicKey | undefined {
  if (payload.script !== ADD_USER_KEY_SCRIPT) return undefined;
  const [keyArgument = "", curveArgument = ""] = payload.arguments;
  const text = /^\{"type":"String","value":"([0-9a-f]{128})"\}$/.exec(keyArgument)?.[1];
  if (payload.arguments.length !== 2 || text === undefined)
    throw new TemplateError("not the arguments of the template");
  for (const algorithm of ["ES256", "ES256K"] as const) {
    if (curveArgument !== encodeCadence(cadenceBool(algorithm === "ES256K"))) continue;
    try {
      const userKey = parsePublicKey(text, algorithm);
      const [expectedKey, expectedCurve] = addUserKeyArguments(userKey);
      if (expectedKey === keyArgument && expectedCurve === curveArgument) return userKey;
    } catch (error) {
      if (!(error instanceof PublicKeyError)) throw error;
    }
  }
  throw new TemplateError("no key that an account can have");
}

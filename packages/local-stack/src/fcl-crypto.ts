import { cadenceString } from "@countersign/flow";
import { serviceAddress } from "./emulator.ts";
import { ServiceAccount } from "./service-account.ts";

/**
 * Answers as the contract that FCL's verifiers ask on mainnet and testnet and that the emulator lacks:
 * every signature must be valid, weight 999 suffices, and an account proof may be a user message too.
 */
const FCL_CRYPTO = `access(all) contract FCLCrypto {
  access(all) fun verifyUserSignatures(address: Address, message: String, keyIndices: [Int], signatures: [String]): Bool {
    return self.suffice(address, message, keyIndices, signatures, "FLOW-V0.0-user")
  }
  access(all) fun verifyAccountProofSignatures(address: Address, message: String, keyIndices: [Int], signatures: [String]): Bool {
    return self.suffice(address, message, keyIndices, signatures, "FCL-ACCOUNT-PROOF-V0.0")
      || self.suffice(address, message, keyIndices, signatures, "FLOW-V0.0-user")
  }
  access(self) fun suffice(_ address: Address, _ message: String, _ indices: [Int], _ signatures: [String], _ tag: String): Bool {
    let keys = getAccount(address).keys
    let counted: [Int] = []
    var weight = 0.0
    for at, index in indices {
      let key = keys.get(keyIndex: index)!
      let isValid = key.publicKey.verify(signature: signatures[at].decodeHex(), signedData: message.decodeHex(), domainSeparationTag: tag, hashAlgorithm: key.hashAlgorithm)
      if key.isRevoked || counted.contains(index) || !isValid { return false }
      counted.append(index)
      weight = weight + key.weight
    }
    return weight >= 999.0
  }
}`;
const DEPLOY = `transaction(code: String) {
  prepare(a: auth(AddContract) &Account) {
    if a.contracts.get(name: "FCLCrypto") == nil { a.contracts.add(name: "FCLCrypto", code: code.utf8) }
  }
}`;

/** The option that FCL's verifiers take for the local chain. */
export const FCL_CRYPTO_OPTION = { fclCryptoContract: `0x${serviceAddress}` };

/** Deploys the contract where it is missing. `scalar`: the private key of the emulator's service account. */
export async function ensureFclCrypto(accessNode: string, scalar: string): Promise<void> {
  await new ServiceAccount(accessNode, scalar).run(DEPLOY, [cadenceString(FCL_CRYPTO)]);
}

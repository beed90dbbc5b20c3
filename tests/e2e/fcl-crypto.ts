import { cadenceString } from "@countersign/flow";
import { ensureServiceKey, serviceAddress } from "@countersign/local-stack/emulator.ts";
import { ServiceAccount } from "@countersign/local-stack/service-account.ts";
import { stateDir } from "../security/secrets.ts";
import { chain } from "../support/person.ts";

/**
 * Answers as the contract that FCL's verifiers ask on mainnet and testnet, which the emulator does not have:
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
  prepare(a: auth(AddContract, UpdateContract) &Account) {
    if a.contracts.get(name: "FCLCrypto") == nil { a.contracts.add(name: "FCLCrypto", code: code.utf8) }
  }
}`;

/** Deploys the contract where it is missing; returns the option that FCL's verifiers take. */
export async function deployFclCrypto(): Promise<{ fclCryptoContract: string }> {
  await new ServiceAccount(chain.accessNode, ensureServiceKey(stateDir)).run(DEPLOY, [cadenceString(FCL_CRYPTO)]);
  return { fclCryptoContract: `0x${serviceAddress}` };
}

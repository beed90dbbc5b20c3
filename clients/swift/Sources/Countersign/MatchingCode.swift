import Foundation

private let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
private let rounds: UInt32 = 200_000

/// Derives the code by which a person sees that the device in their hand is the requesting one: `XXXX-XXXX`.
/// The requesting device derives it from its own keys, the approving one from the key in the message that it
/// is about to sign. Takes about a tenth of a second, on purpose. See docs/two-factor.md.
public func matchingCode(accountId: String, twoFactorId: String, accountKey: PublicKey, deviceKey: PublicKey) -> String {
    let password = [accountKey, deviceKey].map { "\($0.algorithm) \($0.publicKey)\n" }.joined()
    let salt = ["countersign-matching-code-v2", accountId.lowercased(), twoFactorId.lowercased()].map { "\($0)\n" }.joined()
    let digest = Platform.pbkdf2(password: Bytes(password.utf8), salt: Bytes(salt.utf8), rounds: rounds, count: 5)
    let number = digest.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let code = stride(from: 35, through: 0, by: -5).map { String(alphabet[Int(number >> UInt64($0) & 31)]) }.joined()
    return "\(code.prefix(4))-\(code.suffix(4))"
}

/// Returns whether two codes are the same to a person who types them; false for anything that is no code.
public func sameMatchingCode(_ first: String, _ second: String) -> Bool {
    guard let code = normalCode(first) else { return false }
    return code == normalCode(second)
}

private func normalCode(_ code: String) -> [Character]? {
    let plain = code.uppercased().unicodeScalars.filter {
        !$0.properties.isWhitespace && $0.properties.generalCategory != .dashPunctuation
    }
    let letters = plain.map { scalar -> Character in
        switch scalar {
        case "O": return "0"
        case "I", "L": return "1"
        default: return Character(scalar)
        }
    }
    return letters.count == 8 && letters.allSatisfy(alphabet.contains) ? letters : nil
}

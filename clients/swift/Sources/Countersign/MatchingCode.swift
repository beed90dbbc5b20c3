import Foundation

private let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
private let half = 4

/// Makes a code by which a person sees that the device in their hand is the requesting one: `XXXX-XXXX`. The
/// first half is drawn here and reaches the approving device by the person alone; the second is a hash over
/// it and the keys. Each call makes another code, and all of them match. See docs/two-factor.md.
public func matchingCode(accountKey: PublicKey, deviceKey: PublicKey) -> String {
    let drawn = characters((0..<half).map { _ in UInt8.random(in: 0...255) })
    return "\(drawn)-\(secondHalf(drawn, accountKey, deviceKey))"
}

/// Returns whether a device with these keys may have made a code that a person typed.
public func isMatchingCode(_ typed: String, accountKey: PublicKey, deviceKey: PublicKey) -> Bool {
    let plain = typed.uppercased().unicodeScalars.filter {
        !$0.properties.isWhitespace && $0.properties.generalCategory != .dashPunctuation
    }
    let code = plain.map { scalar -> Character in
        switch scalar {
        case "O": return "0"
        case "I", "L": return "1"
        default: return Character(scalar)
        }
    }
    return String(code.dropFirst(half)) == secondHalf(String(code.prefix(half)), accountKey, deviceKey)
}

private func secondHalf(_ drawn: String, _ accountKey: PublicKey, _ deviceKey: PublicKey) -> String {
    let keys = [accountKey, deviceKey].map { "\($0.algorithm) \($0.publicKey)" }
    let text = (["countersign-matching-code-v3", drawn] + keys).map { "\($0)\n" }.joined()
    return characters(Platform.sha256(Bytes(text.utf8)).prefix(half))
}

private func characters(_ bytes: some Sequence<UInt8>) -> String { String(bytes.map { alphabet[Int($0 & 31)] }) }

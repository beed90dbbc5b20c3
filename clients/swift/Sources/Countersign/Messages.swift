import Foundation

private let challengeBytes = 16

/// Returns the bytes that answer a challenge. Throws FormatError for anything but 16 bytes: a longer
/// challenge could be the digest of a transaction.
public func challengeMessage(_ challengeData: String) throws -> Bytes {
    let bytes = try Bytes(hex: challengeData)
    guard bytes.count == challengeBytes else { throw FormatError("a challenge has 16 bytes") }
    return bytes
}

/// Returns the bytes whose signature proves that the device refreshes its own token.
public func refreshProofMessage(_ refreshToken: String) -> Bytes {
    Bytes("countersign-token-refresh\n\(refreshToken)".utf8)
}

private let userMessageTag = domainTag("FLOW-V0.0-user")
private let accountProofTag = domainTag("FCL-ACCOUNT-PROOF-V0.0")
private let maxUserMessageBytes = 4_096

/// Returns the bytes that are signed for a text in the account's name. Throws FormatError for a text with
/// hidden characters, of more than 4096 bytes, or of exactly 32, which could be a hash for an EVM contract.
/// Stricter than the service: the joiners and selectors of composed emoji count as hidden.
public func userMessage(_ text: String) throws -> Bytes {
    let bytes = Bytes(text.utf8)
    guard (1...maxUserMessageBytes).contains(bytes.count) else { throw FormatError("a text has 1 to 4096 bytes") }
    guard bytes.count != 32 else { throw FormatError("the text has 32 bytes, like a hash: add a character") }
    let scalars = text.replacingOccurrences(of: "\r\n", with: "\n").unicodeScalars
    guard !scalars.contains(where: { $0 != "\n" && $0 != "\t" && isHidden($0) }) else {
        throw FormatError("the text has hidden characters")
    }
    return userMessageTag + bytes
}

/// Returns the bytes that are signed for an account proof, as FCL defines them. `nonce`: 32 to 128 bytes in
/// hex. Throws FormatError for another nonce, and for an app identifier with hidden characters or of more
/// than 256 bytes.
public func accountProofMessage(appIdentifier: String, address: String, nonce: String) throws -> Bytes {
    let (account, random) = try (Bytes(hex: address), Bytes(hex: nonce))
    guard (1...256).contains(appIdentifier.utf8.count) else { throw FormatError("an app identifier has 1 to 256 bytes") }
    guard !appIdentifier.unicodeScalars.contains(where: isHidden) else {
        throw FormatError("the app identifier has hidden characters")
    }
    guard account.count == 8 else { throw FormatError("an address has 8 bytes") }
    guard (32...128).contains(random.count) else { throw FormatError("a nonce has 32 to 128 bytes") }
    return accountProofTag + encodeRlp(.list([.text(appIdentifier), .bytes(account), .bytes(random)]))
}

/// Blanks that are letters or symbols to Unicode.
private let blanks: Set<Unicode.Scalar> = ["\u{2800}", "\u{13441}", "\u{13442}", "\u{16fe4}", "\u{1d159}"]

/// Returns whether a character cannot be seen or changes the order of a text.
func isHidden(_ scalar: Unicode.Scalar) -> Bool {
    let hidden: [Unicode.GeneralCategory] = [
        .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator,
    ]
    let properties = scalar.properties
    return hidden.contains(properties.generalCategory) || properties.isDefaultIgnorableCodePoint || blanks.contains(scalar)
}

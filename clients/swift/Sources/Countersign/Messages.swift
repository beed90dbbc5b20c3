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
    let isHidden = scalars.contains { scalar in
        if scalar == "\n" || scalar == "\t" { return false }
        let properties = scalar.properties
        return isControl(properties.generalCategory) || properties.isDefaultIgnorableCodePoint
            || [.lineSeparator, .paragraphSeparator].contains(properties.generalCategory) || scalar == "\u{2800}"
    }
    guard !isHidden else { throw FormatError("the text has hidden characters") }
    return userMessageTag + bytes
}

/// Returns the bytes that are signed for an account proof, as FCL defines them. `nonce`: 32 to 128 bytes in
/// hex.
public func accountProofMessage(appIdentifier: String, address: String, nonce: String) throws -> Bytes {
    try accountProofTag + encodeRlp(.list([.text(appIdentifier), .bytes(Bytes(hex: address)), .bytes(Bytes(hex: nonce))]))
}

/// Returns whether a category is "Other" (C): control, format, surrogate, private use, unassigned.
func isControl(_ category: Unicode.GeneralCategory) -> Bool {
    [.control, .format, .surrogate, .privateUse, .unassigned].contains(category)
}

import CountersignAPI
import Foundation

/// The change that a person agrees to by signing the message of a request. Addresses have `0x` and 16 hex
/// digits.
public struct KeyAddition: Equatable, Sendable {
    public let address: String
    public let key: PublicKey
    public let payer: String
    public let proposalKey: ProposalKey
}

/// The message to sign is not the addition of one user key, or not for this device. Nothing was signed.
public struct EnrollmentError: Error, CustomStringConvertible {
    public let description: String
}

/// Reads the message (hex) of a request. Its result is all that the transaction does: text and arguments are
/// compared byte for byte with the template, and exactly one account, which also proposes, authorizes. Throws
/// EnrollmentError for any other message.
public func readKeyAddition(_ message: String) throws -> KeyAddition {
    let payload: TransactionPayload
    do {
        payload = try decodePayload(Bytes(hex: message))
    } catch {
        throw EnrollmentError(description: "the message is no transaction: \(error)")
    }
    guard payload.authorizers.count == 1 else { throw EnrollmentError(description: "not exactly one account authorizes") }
    let account = payload.authorizers[0]
    guard payload.proposalKey.address == account else { throw EnrollmentError(description: "another account proposes") }
    guard sameBytes(payload.script, Templates.addUserKey) else {
        throw EnrollmentError(description: "the transaction is not the addition of a key")
    }
    guard let key = keyOf(payload.arguments) else {
        throw EnrollmentError(description: "not the arguments of the template")
    }
    var proposalKey = payload.proposalKey
    proposalKey.address = "0x\(account)"
    return KeyAddition(address: "0x\(account)", key: key, payer: "0x\(payload.payer)", proposalKey: proposalKey)
}

private func keyOf(_ arguments: [String]) -> PublicKey? {
    // {"type":"String","value":" and the 128 digits after it.
    let digits = String((arguments.first ?? "").dropFirst(26).prefix(128))
    return ["ES256", "ES256K"].lazy.compactMap { try? PublicKey(algorithm: $0, publicKey: digits) }.first { key in
        let ours = addUserKeyArguments(key)
        return ours.count == arguments.count && zip(ours, arguments).allSatisfy(sameBytes)
    }
}

/// Returns the exact arguments of the transaction that adds a key.
public func addUserKeyArguments(_ key: PublicKey) -> [String] {
    [CadenceValue.string(key.publicKey), CadenceValue.bool(key.algorithm == "ES256K")].map(\.encoded)
}

/// The part of a request that a person decides on.
public struct ShownEnrollment: Sendable, Identifiable {
    public let id: String
    public let accountId: String
    public let message: String
    public let device: PublicKey
    public let appName: String
    public let name: String
    public let model: String
    public let system: String
    public let email: String
    public let ip: String
    public let location: String

    /// The key that the message adds. Throws EnrollmentError where it does anything else.
    public func addition() throws -> KeyAddition { try readKeyAddition(message) }

    /// Returns whether a person typed the code of the device whose key the message adds.
    public func isMatchingCode(_ typed: String) throws -> Bool {
        try Countersign.isMatchingCode(typed, accountKey: addition().key, deviceKey: device)
    }

    /// In plain English: the device that asks, what approving does, and what to type.
    public func description() throws -> String {
        let details = [clean(model), clean(system)].filter { !$0.isEmpty }.joined(separator: ", ")
        let named = clean(name).isEmpty ? "A device without a name" : clean(name)
        let device = "“\(named)”" + (details.isEmpty ? "" : " (\(details))")
        let person = clean(email).isEmpty ? "" : " as \(clean(email))"
        let place = clean(location).isEmpty ? "" : " (\(clean(location)))"
        let origin = clean(ip).isEmpty ? "" : " from \(clean(ip))\(place)"
        let app = clean(appName).isEmpty ? "an app" : clean(appName)
        return try "\(device) asks to sign in to \(app)\(person)\(origin). "
            + "If you approve, its key is added to your account \(addition().address) with weight 1, "
            + "and it can then act for you together with the service, as this device can. "
            + "Approve only if the other device is in front of you, by typing the code that it shows."
    }
}

/// Returns the part of a request that a person decides on.
public func shownEnrollment(_ auth: TwoFactorAuth) throws -> ShownEnrollment {
    let device = auth.request.srcDevice
    let signIn = auth.request.userOpInfo.signIn
    return try ShownEnrollment(
        id: auth.id.uuidString.lowercased(),
        accountId: auth.accountId.uuidString.lowercased(),
        message: auth.request.message,
        device: PublicKey(algorithm: device.algorithm, publicKey: device.publicKey),
        appName: auth.request.app.appName,
        name: device.name,
        model: "\(device.deviceManufacturer) \(device.deviceModel)",
        system: "\(device.osName) \(device.osVersion)",
        email: signIn.email,
        ip: signIn.ip,
        location: signIn.location)
}

private let maxName = 64

/// Cleans text of unknown origin for one line: no control, invisible or direction-changing characters, no
/// quotes like ours, and a limited length.
private func clean(_ text: String) -> String {
    var plain: [Unicode.Scalar] = []
    for scalar in text.precomposedStringWithCanonicalMapping.unicodeScalars {
        if !isHidden(scalar) && scalar.properties.generalCategory != .spaceSeparator {
            plain.append("“”".unicodeScalars.contains(scalar) ? "\"" : scalar)
        } else if !plain.isEmpty && plain.last != " " {
            plain.append(" ")
        }
    }
    if plain.last == " " { plain.removeLast() }
    var shown = String.UnicodeScalarView()
    shown.append(contentsOf: plain.prefix(maxName))
    return String(shown) + (plain.count > maxName ? "…" : "")
}

import Foundation

/// A public key in canonical form, with the JOSE name of its algorithm.
public struct PublicKey: Equatable, Hashable, Sendable {
    /// `ES256`, `ES256K` or `EdDSA`.
    public let algorithm: String
    /// 128 hex digits x||y for ECDSA, 64 for Ed25519.
    public let publicKey: String

    /// Throws FormatError for every other encoding than the canonical one.
    public init(algorithm: String, publicKey: String) throws {
        let digits = ["ES256": 128, "ES256K": 128, "EdDSA": 64][algorithm]
        let isHex = publicKey.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
        guard publicKey.utf8.count == digits, isHex else { throw FormatError("not a public key in canonical form") }
        self.algorithm = algorithm
        self.publicKey = publicKey
    }
}

/// The device's key. It never leaves the device, so the client only asks for signatures.
public protocol DeviceKey: Sendable {
    var publicKey: PublicKey { get }

    /// Signs `message` itself, ECDSA over its SHA-256; returns raw r||s, 64 bytes. May show the phone's
    /// dialog.
    func sign(_ message: Bytes) async throws -> Bytes
}

/// Where a device's key is kept. A store never overwrites a key: an account may depend on one, also where the
/// answer to the sign-up was lost.
public protocol KeyStore: Sendable {
    func load() async throws -> (any DeviceKey)?

    /// Creates a key and stores it before it returns it; where there is one already, returns that one.
    func create() async throws -> any DeviceKey

    /// Deletes the key for good: only once it is revoked on every chain, or was never used.
    func remove() async throws
}

extension KeyStore {
    /// Returns the stored key; creates it the first time.
    public func loadOrCreate() async throws -> any DeviceKey {
        if let key = try await load() { return key }
        return try await create()
    }
}

/// Returns the `nonce` to log in with, base64url(SHA-256(public key)): the login is useless with another key.
public func keyFingerprint(_ key: PublicKey) throws -> String {
    base64url(Platform.sha256(try Bytes(hex: key.publicKey)))
}

/// Returns the text that App Attest attests (docs/attestation.md): `clientDataHash` is SHA-256 of its UTF-8.
/// `operation`: `sign-up` or `enrollment`.
public func attestationText(
    operation: String, chainName: String, loginToken: String, accountKey: PublicKey, deviceKey: PublicKey
) throws -> String {
    let login = base64url(Platform.sha256(Bytes(loginToken.utf8)))
    let keys = [try keyFingerprint(accountKey), try keyFingerprint(deviceKey)]
    return (["countersign attestation v1", operation, chainName, login] + keys).joined(separator: "\n")
}

func base64url(_ bytes: Bytes) -> String {
    Data(bytes).base64EncodedString()
        .replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
        .replacingOccurrences(of: "=", with: "")
}

/// Returns the raw 64 bytes r||s of strict DER (X.690), as some platforms' keys sign.
public func signatureFromDer(_ der: Bytes) throws -> Bytes {
    guard (8...72).contains(der.count), der[0] == 0x30, Int(der[1]) == der.count - 2 else {
        throw FormatError("a signature is DER")
    }
    let (r, next) = try derInteger(der, at: 2)
    let (s, end) = try derInteger(der, at: next)
    guard end == der.count else { throw FormatError("bad DER") }
    return r + s
}

private func derInteger(_ der: Bytes, at offset: Int) throws -> (Bytes, Int) {
    guard offset + 2 < der.count, der[offset] == 2 else { throw FormatError("bad DER") }
    let start = offset + 2
    let end = start + Int(der[offset + 1])
    guard end > start, end <= min(der.count, start + 33), der[start] < 0x80 else { throw FormatError("bad DER") }
    let isPadded = der[start] == 0 && end - start > 1
    guard !isPadded || der[start + 1] >= 0x80 else { throw FormatError("bad DER") }
    let digits = der[(isPadded ? start + 1 : start)..<end]
    guard digits.count <= 32 else { throw FormatError("bad DER") }
    return (Bytes(repeating: 0, count: 32 - digits.count) + digits, end)
}

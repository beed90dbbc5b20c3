import Foundation

#if canImport(CryptoKit)
import CryptoKit

/// Hashes of the platform.
enum Platform {
    static func sha256(_ bytes: Bytes) -> Bytes { Bytes(SHA256.hash(data: bytes)) }
}

/// A P-256 key in memory, for tests; on phones use `SecureEnclaveKeyStore`.
public final class SoftwareKey: DeviceKey {
    private let key = P256.Signing.PrivateKey()
    public let publicKey: PublicKey

    public init() throws {
        publicKey = try PublicKey(algorithm: "ES256", publicKey: Bytes(key.publicKey.rawRepresentation).hex)
    }

    public func sign(_ message: Bytes) async throws -> Bytes { try Bytes(key.signature(for: message).rawRepresentation) }
}
#else
import CLibcrypto

/// Hashes of the platform.
enum Platform {
    static func sha256(_ bytes: Bytes) -> Bytes {
        var digest = Bytes(repeating: 0, count: 32)
        cs_sha256(bytes, bytes.count, &digest)
        return digest
    }
}

/// A P-256 key in memory, for tests.
public final class SoftwareKey: DeviceKey, @unchecked Sendable {
    private let key: OpaquePointer
    public let publicKey: PublicKey

    public init() throws {
        var point = Bytes(repeating: 0, count: 64)
        guard let made = cs_new_key(&point) else { throw FormatError("libcrypto made no key") }
        key = made
        publicKey = try PublicKey(algorithm: "ES256", publicKey: point.hex)
    }

    deinit {
        EC_KEY_free(key)
    }

    public func sign(_ message: Bytes) async throws -> Bytes {
        var signature = Bytes(repeating: 0, count: 64)
        guard cs_sign(key, Platform.sha256(message), &signature) == 1 else { throw FormatError("libcrypto did not sign") }
        return signature
    }
}
#endif

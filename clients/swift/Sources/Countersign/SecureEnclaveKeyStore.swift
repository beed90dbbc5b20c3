#if canImport(CryptoKit) && canImport(Security)
import CryptoKit
import Foundation
import LocalAuthentication
import Security

/// Thrown where the Keychain refuses; `status` is its own.
public struct KeychainError: Error {
    public let status: OSStatus
}

/// Keeps the device's key in the Secure Enclave: it never leaves it. The Keychain keeps the enclave's handle
/// of it, which is of no use on another device. Each signature asks for Face ID, Touch ID or the phone's
/// code.
public actor SecureEnclaveKeyStore: KeyStore {
    private let query: [CFString: Any]
    private let reason: String

    /// `reason`: shown in the dialog.
    public init(name: String = "countersign.device", reason: String) {
        query = [kSecClass: kSecClassGenericPassword, kSecAttrService: name, kSecAttrAccount: "key"]
        self.reason = reason
    }

    public func load() throws -> (any DeviceKey)? {
        var found: CFTypeRef?
        let wanted = query.merging([kSecReturnData: true]) { $1 }
        let status = SecItemCopyMatching(wanted as CFDictionary, &found)
        if status == errSecItemNotFound { return nil }
        guard status == errSecSuccess, let handle = found as? Data else { throw KeychainError(status: status) }
        return try SecureEnclaveKey(handle: handle, reason: reason)
    }

    public func create() throws -> any DeviceKey {
        if let key = try load() { return key }
        var failure: Unmanaged<CFError>?
        let flags: SecAccessControlCreateFlags = [.privateKeyUsage, .userPresence]
        let protection = kSecAttrAccessibleWhenUnlockedThisDeviceOnly
        guard let access = SecAccessControlCreateWithFlags(nil, protection, flags, &failure) else {
            throw failure?.takeRetainedValue() ?? KeychainError(status: errSecParam)
        }
        let key = try SecureEnclave.P256.Signing.PrivateKey(accessControl: access)
        let added: [CFString: Any] = [kSecValueData: key.dataRepresentation, kSecAttrAccessible: protection]
        let status = SecItemAdd(query.merging(added) { $1 } as CFDictionary, nil)
        // Another process of the app was faster: its key is the device's.
        if status == errSecDuplicateItem, let key = try load() { return key }
        guard status == errSecSuccess else { throw KeychainError(status: status) }
        return try SecureEnclaveKey(handle: key.dataRepresentation, reason: reason)
    }

    public func remove() throws {
        let status = SecItemDelete(query as CFDictionary)
        guard status == errSecSuccess || status == errSecItemNotFound else { throw KeychainError(status: status) }
    }
}

private struct SecureEnclaveKey: DeviceKey {
    let publicKey: PublicKey
    private let handle: Data
    private let reason: String

    init(handle: Data, reason: String) throws {
        let key = try SecureEnclave.P256.Signing.PrivateKey(dataRepresentation: handle)
        publicKey = try PublicKey(algorithm: "ES256", publicKey: Bytes(key.publicKey.rawRepresentation).hex)
        self.handle = handle
        self.reason = reason
    }

    func sign(_ message: Bytes) async throws -> Bytes {
        // A context of its own for each signature: one dialog approves one message.
        let context = LAContext()
        context.localizedReason = reason
        let key = try SecureEnclave.P256.Signing.PrivateKey(dataRepresentation: handle, authenticationContext: context)
        return try Bytes(key.signature(for: message).rawRepresentation)
    }
}
#endif

import CountersignAPI
import Foundation

/// Where the session's tokens are kept: on a phone in the Keychain, with
/// `kSecAttrAccessibleWhenUnlockedThisDeviceOnly`. One client per store.
public protocol CredentialStore: Sendable {
    func load() async throws -> Credentials?

    /// Stores the next pair; nil removes it.
    func save(_ credentials: Credentials?) async throws
}

/// Keeps the tokens while the process runs.
public actor MemoryCredentials: CredentialStore {
    private var credentials: Credentials?

    public init(_ credentials: Credentials? = nil) {
        self.credentials = credentials
    }

    public func load() -> Credentials? { credentials }

    public func save(_ credentials: Credentials?) { self.credentials = credentials }
}

public typealias Configuration = CountersignAPIAPIConfiguration

private let refreshTries = 3
/// Three tries are over before the service stops to accept the last used token again, after half a minute.
private let refreshNanoseconds: UInt64 = 8_000_000_000

/// The tokens of a session: sent along with each call, and exchanged for the next pair when the access token
/// has expired, once for all calls at the same time. Tokens are dropped when the service says that the
/// session is over, and by nothing else.
public actor ClientSession {
    let baseURL: String
    private let store: any CredentialStore
    private let key: any DeviceKey
    private let provesRefreshes: Bool
    /// A pair that the store has not saved, or failed to: newer than what is there.
    private var unsaved: Credentials??
    private var changes = 0
    private var saving: Task<Void, any Error>?
    private var refreshing: (of: String, next: Task<Credentials, any Error>)?

    init(baseURL: String, store: any CredentialStore, key: any DeviceKey, provesRefreshes: Bool) {
        self.baseURL = baseURL
        self.store = store
        self.key = key
        self.provesRefreshes = provesRefreshes
    }

    public var credentials: Credentials? {
        get async throws { try await load() }
    }

    /// The configuration of a call: without a token, or with this one.
    nonisolated func configuration(_ accessToken: String? = nil) -> Configuration {
        let headers = accessToken.map { ["Authorization": "Bearer \($0)"] } ?? [:]
        return Configuration(
            basePath: baseURL, customHeaders: headers, apiResponseQueue: .global(qos: .userInitiated))
    }

    private func load() async throws -> Credentials? {
        if let unsaved { return unsaved }
        let asked = changes
        let loaded = try await store.load()
        // An answer to an older question: a session was opened or left meanwhile.
        guard asked == changes else { return try await load() }
        guard let stored = loaded else { return nil }
        // Tokens of another key are none: a backup brings them to a phone that has a key of its own.
        let owner = (claims(of: stored)["account_key"] as? [String: Any])?["key"] as? String
        return owner == nil || owner == key.publicKey.publicKey ? stored : nil
    }

    func keep(_ credentials: Credentials?) async throws {
        changes += 1
        let change = changes
        unsaved = .some(credentials)
        // A pair that the store failed to save must not be lost; a removal that failed is begun again.
        var isDone = credentials == nil
        defer { if isDone, change == changes { unsaved = .none } }
        // One after another: a slow store must not end with the older pair.
        let (store, before) = (store, saving)
        let mine = Task {
            _ = await before?.result
            try await store.save(credentials)
        }
        saving = mine
        try await mine.value
        isDone = true
    }

    /// Does a call with the session's token, and once more where that has expired.
    func withAccess<Answer: Sendable>(
        _ work: @escaping @Sendable (Configuration) async throws -> Answer
    ) async throws -> Answer {
        let used = try await load()
        do {
            return try await mapped { try await work(configuration(used?.accessToken)) }
        } catch let problem as ProblemError {
            guard let used else { throw problem }
            if problem.isSessionOver { try await drop(used) }
            guard problem.error == "AccessTokenExpired" else { throw problem }
            let next = try await refresh(used)
            // Somebody else has signed in: a call of one person is never sent in another's name.
            guard claim("sub", of: next) == claim("sub", of: used) else { throw ProblemError.sessionEnded }
            do {
                return try await mapped { try await work(configuration(next.accessToken)) }
            } catch let problem as ProblemError {
                if problem.isSessionOver { try await drop(next) }
                throw problem
            }
        }
    }

    /// Exchanges the refresh token for the next pair; calls at the same time share one exchange.
    func refresh(_ used: Credentials) async throws -> Credentials {
        if let refreshing, refreshing.of == used.refreshToken { return try await refreshing.next.value }
        let next = Task { try await exchange(used) }
        refreshing = (used.refreshToken, next)
        defer { if refreshing?.of == used.refreshToken { refreshing = nil } }
        return try await next.value
    }

    private func exchange(_ used: Credentials) async throws -> Credentials {
        let asked = changes
        guard let stored = try await load() else { throw ProblemError.sessionEnded }
        guard stored.refreshToken == used.refreshToken else { return stored }
        // Given a key, each refresh is signed with it, and from the first time on the service requires that.
        let proof = provesRefreshes ? try await key.sign(refreshProofMessage(used.refreshToken)).hex : nil
        let request = RefreshTokenRequest(refreshToken: used.refreshToken, proof: proof)
        for count in 1... {
            do {
                let next = try await inTime { [configuration = configuration()] in
                    try await AuthAPI.refreshToken(refreshTokenRequest: request, apiConfiguration: configuration)
                }.credentials
                // After a sign-out or another sign-in the pair is of a session that was left. The store is
                // not asked: it may be locked with the phone, and the next pair must not be lost.
                if asked == changes { try await keep(next) }
                return next
            } catch {
                if let problem = error as? ProblemError, problem.isSessionOver { try await drop(used) }
                guard isLost(error), count < refreshTries else { throw error }
            }
        }
        throw ProblemError.sessionEnded
    }

    private func drop(_ used: Credentials) async throws {
        if try await load()?.refreshToken == used.refreshToken { try await keep(nil) }
    }

    /// Ends the session where it is the one with this id; returns whether it was.
    func end(sessionId: String?) async throws -> Bool {
        guard let used = try await load(), claim("sid", of: used) == sessionId else { return false }
        try await keep(nil)
        return true
    }
}

/// Does a call that is lost after the time of one try.
private func inTime<Answer: Sendable>(_ work: @escaping @Sendable () async throws -> Answer) async throws -> Answer {
    try await withThrowingTaskGroup(of: Answer.self) { group in
        defer { group.cancelAll() }
        group.addTask { try await mapped(work) }
        group.addTask {
            try await Task.sleep(nanoseconds: refreshNanoseconds)
            throw URLError(.timedOut)
        }
        return try await group.next()!
    }
}

/// Reads the claims of an access token without verifying them; the services do.
private func claims(of credentials: Credentials) -> [String: Any] {
    let parts = credentials.accessToken.split(separator: ".")
    guard parts.count == 3 else { return [:] }
    let text = parts[1].replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
    let padded = text + String(repeating: "=", count: (4 - text.count % 4) % 4)
    guard let data = Data(base64Encoded: padded) else { return [:] }
    return (try? JSONSerialization.jsonObject(with: data) as? [String: Any]) ?? [:]
}

func claim(_ name: String, of credentials: Credentials) -> String? { claims(of: credentials)[name] as? String }

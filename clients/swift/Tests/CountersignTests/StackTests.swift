import CountersignAPI
import Foundation
import XCTest

@testable import Countersign

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The stack that tests/native/swift.test.ts names.
enum Stack {
    static func variable(_ name: String) throws -> String {
        guard let value = ProcessInfo.processInfo.environment[name] else {
            throw FormatError("\(name) is missing: run npm run test:native, or swift test --filter VectorsTests")
        }
        return value
    }

    /// Logs in at the development provider, as a person in a browser does.
    static func logIn(_ email: String, _ nonce: String) async throws -> Login {
        var url = URLComponents(string: try variable("LOGIN_URL"))!
        url.queryItems = [URLQueryItem(name: "email", value: email), URLQueryItem(name: "nonce", value: nonce)]
        let (token, _) = try await URLSession.shared.data(from: url.url!)
        return Login(token: String(decoding: token, as: UTF8.self))
    }

    static func newEmail() -> String { "swift-\(UUID().uuidString.lowercased())@example.com" }

    static func newPhone(
        _ credentials: any CredentialStore = MemoryCredentials(), deviceKey: (any DeviceKey)? = nil,
        provesRefreshes: Bool = false
    ) throws -> CountersignClient {
        try CountersignClient(
            baseURL: variable("GATEWAY"), deviceKey: deviceKey ?? SoftwareKey(), credentials: credentials,
            provesRefreshes: provesRefreshes)
    }

    @discardableResult
    static func signUp(_ phone: CountersignClient, _ email: String) async throws -> Account {
        let login = try await logIn(email, phone.loginNonce)
        return try await phone.signUp(login, chainName: variable("CHAIN_NAME"), device: NewDevice(name: "First phone")).account
    }
}

/// A key that is in memory already.
struct OneKey: KeyStore {
    let key: SoftwareKey

    func load() -> (any DeviceKey)? { key }

    func create() -> any DeviceKey { key }

    func remove() {}
}

private let greeting = """
    transaction(text: String) {
      prepare(account: auth(SaveValue) &Account) {
        account.storage.save(text, to: /storage/greeting)
      }
    }
    """

/// Counts the pairs of tokens that are kept.
private actor CountingCredentials: CredentialStore {
    private var credentials: Credentials?
    private(set) var saved = 0

    func load() -> Credentials? { credentials }

    func save(_ credentials: Credentials?) {
        self.credentials = credentials
        saved += 1
    }
}

/// Refuses the calls with one access token as the service does when it has expired, all at once: each is
/// answered when as many as expected are there.
private actor ExpiredToken {
    private let header: String
    private let expected: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private(set) var refused = 0

    init(_ accessToken: String, calls: Int) {
        header = "Bearer \(accessToken)"
        expected = calls
    }

    func check(_ configuration: Configuration) async throws {
        guard configuration.customHeaders["Authorization"] == header else { return }
        refused += 1
        if refused < expected {
            await withCheckedContinuation { waiting.append($0) }
        } else {
            waiting.forEach { $0.resume() }
            waiting = []
        }
        let body = Data(#"{"error":"AccessTokenExpired"}"#.utf8)
        throw ErrorResponse.error(401, body, nil, FormatError("expired"))
    }
}

private actor SignedIds {
    private(set) var ids: [String] = []

    func add(_ id: String) { ids.append(id) }
}

final class StackTests: XCTestCase {
    private func problem(_ work: () async throws -> Void) async throws -> ProblemError {
        do {
            try await work()
        } catch let problem as ProblemError {
            return problem
        }
        throw FormatError("the call was not refused")
    }

    func testSignsUpOutAndInByChallenge() async throws {
        let email = Stack.newEmail()
        let phone = try Stack.newPhone()
        let account = try await Stack.signUp(phone, email)
        XCTAssertEqual(account.addresses.map(\.chainType), ["cadence", "evm"])
        try await phone.signOut()
        let refused = try await problem { _ = try await phone.me() }
        XCTAssertEqual(refused.status, 401)
        let login = try await Stack.logIn(email, phone.loginNonce)
        let signedIn = try await phone.signIn(login, chainName: Stack.variable("CHAIN_NAME"))
        XCTAssertEqual(signedIn.account.id, account.id)
        let me = try await phone.me()
        XCTAssertEqual(me.id, account.id)
    }

    func testRefreshesWithAProofAndEndsWhereATokenIsUsedAgain() async throws {
        let store = MemoryCredentials()
        let phone = try Stack.newPhone(store, provesRefreshes: true)
        try await Stack.signUp(phone, Stack.newEmail())
        let first = await store.load()
        try await phone.refresh()
        let second = await store.load()
        XCTAssertNotEqual(first?.refreshToken, second?.refreshToken)
        let thief = try Stack.newPhone(MemoryCredentials(second), deviceKey: phone.deviceKey)
        let refused = try await problem { try await thief.refresh() }
        XCTAssertEqual(refused.error, "RefreshProofRequired")

        try await phone.refresh()
        await store.save(first)
        let ended = try await problem { try await phone.refresh() }
        XCTAssertTrue(ended.isSessionOver, "\(ended)")
        let left = await store.load()
        XCTAssertNil(left)
    }

    func testTheProgramOfThePageHasATransactionSealed() async throws {
        let keys = try OneKey(key: SoftwareKey())
        let id = try await openAndGreet(gateway: Stack.variable("GATEWAY"), keys: keys) {
            try await Stack.logIn(Stack.newEmail(), $0)
        }
        XCTAssertEqual(id.count, 64)
    }

    func testAnExpiredAccessTokenIsExchangedOnceForCallsAtTheSameTime() async throws {
        let store = CountingCredentials()
        let phone = try Stack.newPhone(store)
        let account = try await Stack.signUp(phone, Stack.newEmail())
        let kept = await store.load()
        let first = try XCTUnwrap(kept)
        let late = ExpiredToken(first.accessToken, calls: 4)
        let ids = try await withThrowingTaskGroup(of: UUID.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    try await phone.call {
                        try await late.check($0)
                        return try await AccountAPI.getMe(apiConfiguration: $0)
                    }.account.id
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        XCTAssertEqual(ids, Array(repeating: account.id, count: 4))
        let (refused, saved) = await (late.refused, store.saved)
        XCTAssertEqual(refused, 4)
        XCTAssertEqual(saved, 2, "the sign-up's pair, and one more")
    }

    func testSignsATransactionThatIsSealedAndPassesOnWhyOneIsRefused() async throws {
        let phone = try Stack.newPhone()
        try await Stack.signUp(phone, Stack.newEmail())
        let chainName = try Stack.variable("CHAIN_NAME")
        let networks = try await phone.call { try await AccountAPI.listNetworks(apiConfiguration: $0) }.networks
        let network = try XCTUnwrap(networks.first { $0.chainName == chainName })
        let signed = SignedIds()
        let id = try await phone.sendTransaction(network, cadence: greeting, arguments: [.string("hello é 🦊")]) {
            await signed.add($0)
        }
        let ids = await signed.ids
        XCTAssertEqual(ids, [id])
        try await awaitSeal(network, id)

        let cadence = "transaction { prepare(a: auth(AddKey) &Account) {} }"
        let refused = try await problem { _ = try await phone.sendTransaction(network, cadence: cadence) }
        XCTAssertEqual(refused.error, "SigningRefused")
        XCTAssertFalse(refused.reason.isEmpty)

        // A second greeting panics on chain: there is one already.
        do {
            _ = try await phone.sendTransaction(network, cadence: greeting, arguments: [.string("again")])
            XCTFail("the chain took it")
        } catch let error as TransactionFailedError {
            XCTAssertTrue(error.message.lowercased().contains("cadence runtime error"), error.message)
        }
    }

    func testEnrollsASecondPhoneAnnouncedByAnEvent() async throws {
        let email = Stack.newEmail()
        let (phone, tablet) = try (Stack.newPhone(), Stack.newPhone())
        let account = try await Stack.signUp(phone, email)
        var events = phone.events(after: "1").makeAsyncIterator()
        func next(_ name: String) async throws -> AccountEvent {
            while let event = try await events.next() { if event.name == name { return event } }
            throw FormatError("the stream ended")
        }
        // From an id of long ago on, the stream begins with the past: now it is open.
        _ = try await events.next()
        let requested = try await tablet.requestEnrollment(
            Stack.logIn(email, tablet.loginNonce), chainName: Stack.variable("CHAIN_NAME"), device: NewDevice(name: "Tablet"))
        let id = try await next("two-factor.requested").text("id")
        let pending = try await phone.pendingEnrollments().map(\.id)
        XCTAssertEqual(pending, [id])
        let code = tablet.matchingCode()
        let described = try await phone.enrollment(id).description()
        XCTAssertTrue(described.hasPrefix("“Tablet” asks to sign in to"), described)

        do {
            try await phone.approveEnrollment(id, typedCode: "0000-0000")
            XCTFail("a wrong code was taken")
        } catch is EnrollmentError {}
        try await phone.approveEnrollment(id, typedCode: code.lowercased())
        let signedIn = try await tablet.awaitEnrollment(requested)
        XCTAssertEqual(signedIn.account.id, account.id)
        // As after an answer that was lost.
        let again = try await tablet.awaitEnrollment(requested) {
            try await tablet.signIn(Stack.logIn(email, tablet.loginNonce), chainName: Stack.variable("CHAIN_NAME"))
        }
        XCTAssertEqual(again.account.id, account.id)
        let added = try await next("key.added").text("publicKey")
        XCTAssertEqual(added, tablet.deviceKey.publicKey.publicKey)
        let me = try await tablet.me()
        XCTAssertEqual(me.id, account.id)
        let devices = try await phone.call { try await DevicesAPI.listDevices(apiConfiguration: $0) }.devices
        let both = [phone, tablet].map(\.deviceKey.publicKey.publicKey)
        XCTAssertEqual(Set(devices.map(\.publicKey)), Set(both))
    }

    func testARejectedPhoneGetsNoSession() async throws {
        let email = Stack.newEmail()
        let store = MemoryCredentials()
        let (phone, tablet) = try (Stack.newPhone(), Stack.newPhone(store))
        try await Stack.signUp(phone, email)
        let requested = try await tablet.requestEnrollment(
            Stack.logIn(email, tablet.loginNonce), chainName: Stack.variable("CHAIN_NAME"), device: NewDevice(name: "Tablet"))
        let pending = try await phone.pendingEnrollments()
        XCTAssertEqual(pending.count, 1)
        try await phone.rejectEnrollment(pending[0].id)
        let refused = try await problem { _ = try await tablet.awaitEnrollment(requested) }
        XCTAssertEqual(refused.error, "TwoFactorAuthRejected")
        let kept = await store.load()
        XCTAssertNil(kept)
    }

    func testTheEndOfASessionIsItsLastEvent() async throws {
        let store = MemoryCredentials()
        let phone = try Stack.newPhone(store)
        try await Stack.signUp(phone, Stack.newEmail())
        // Another client with the same tokens signs out.
        let other = try await Stack.newPhone(MemoryCredentials(store.load()), deviceKey: phone.deviceKey)
        var events = phone.events(after: "1").makeAsyncIterator()
        _ = try await events.next()
        try await other.signOut()
        let ended = try await problem { while try await events.next() != nil {} }
        XCTAssertTrue(ended.isSessionOver, "\(ended)")
        let left = await store.load()
        XCTAssertNil(left)
    }
}

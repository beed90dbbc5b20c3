import CountersignAPI
import Foundation
import XCTest

@testable import Countersign

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
#if canImport(Glibc)
import Glibc

private let streamSocket = Int32(SOCK_STREAM.rawValue)
#else
private let streamSocket = SOCK_STREAM
#endif

/// Answers HTTP requests, one after another; a nil answer is none, and the connection stays open. `status`
/// gives the status line's end, and may have headers after it.
private final class FakeService: @unchecked Sendable {
    let url: String
    private let lock = NSLock()
    private var texts: [String] = []

    var received: [String] { lock.withLock { texts } }
    var requests: Int { received.count }

    init(
        status: @escaping @Sendable (_ number: Int) -> String = { _ in "200 OK" },
        _ answer: @escaping @Sendable (_ number: Int) -> (type: String, body: String)?
    ) {
        let listening = socket(AF_INET, streamSocket, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                [bind(listening, address, size), listen(listening, 16), getsockname(listening, address, &size)]
            }
        }
        precondition(bound == [0, 0, 0])
        url = "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))"
        Thread.detachNewThread { [self] in
            while case let connection = accept(listening, nil, nil), connection >= 0 {
                var buffer = Bytes(repeating: 0, count: 65_536)
                var text = ""
                // The bodies of these tests are objects.
                while !text.hasPrefix("GET ") || !text.hasSuffix("\r\n\r\n") {
                    let length = recv(connection, &buffer, buffer.count, 0)
                    guard length > 0 else { break }
                    text += String(decoding: buffer.prefix(length), as: UTF8.self)
                    if text.hasPrefix("POST ") && text.hasSuffix("}") { break }
                }
                let number = lock.withLock {
                    texts.append(text)
                    return texts.count
                }
                guard let (type, body) = answer(number) else { continue }
                let head = "HTTP/1.1 \(status(number))\r\nContent-Type: \(type)\r\nConnection: close\r\n"
                let bytes = Bytes("\(head)Content-Length: \(body.utf8.count)\r\n\r\n\(body)".utf8)
                _ = send(connection, bytes, bytes.count, 0)
                close(connection)
            }
        }
    }
}

private func pair(_ number: Int) -> (type: String, body: String) {
    let credentials = #"{"accessToken":"access-\#(number)","refreshToken":"refresh-\#(number)"}"#
    return ("application/json", #"{"credentials":\#(credentials)}"#)
}

/// Does something before each signature.
private struct HookedKey: DeviceKey {
    let key: SoftwareKey
    let hook: @Sendable () async -> Void

    var publicKey: PublicKey { key.publicKey }

    func sign(_ message: Bytes) async throws -> Bytes {
        await hook()
        return try await key.sign(message)
    }
}

/// The work of a hook that is known only after what it hooks into.
private actor Meanwhile {
    private var work: @Sendable () async -> Void = {}

    func does(_ work: @escaping @Sendable () async -> Void) { self.work = work }

    func run() async { await work() }
}

private struct Locked: Error {}

/// A store that is locked at some time, as the Keychain is with the phone.
private actor LockableCredentials: CredentialStore {
    private let credentials: Credentials
    private var isLocked = false

    init(_ credentials: Credentials) { self.credentials = credentials }

    func lock() { isLocked = true }

    func load() throws -> Credentials? {
        if isLocked { throw Locked() }
        return credentials
    }

    func save(_ credentials: Credentials?) throws {
        if isLocked { throw Locked() }
    }
}

/// A store whose answer comes late.
private actor SlowCredentials: CredentialStore {
    private(set) var kept: Credentials?
    private var meanwhile: (@Sendable () async throws -> Void)?

    init(_ credentials: Credentials) { kept = credentials }

    /// Does something between the next question and its answer.
    func duringNextLoad(_ work: @escaping @Sendable () async throws -> Void) { meanwhile = work }

    func load() async throws -> Credentials? {
        let (answer, work) = (kept, meanwhile)
        meanwhile = nil
        try await work?()
        return answer
    }

    func save(_ credentials: Credentials?) { kept = credentials }
}

/// A store whose first save takes longer than the next.
private actor SlowlySavedCredentials: CredentialStore {
    private(set) var kept: Credentials?
    private(set) var saves = 0

    func load() -> Credentials? { kept }

    func save(_ credentials: Credentials?) async throws {
        saves += 1
        if saves == 1 { try await Task.sleep(nanoseconds: 300_000_000) }
        kept = credentials
    }
}

/// A store that fails to save once, as on a full disk.
private actor FullCredentials: CredentialStore {
    private(set) var kept: Credentials?
    private var isFull = true

    init(_ credentials: Credentials) { kept = credentials }

    func load() -> Credentials? { kept }

    func save(_ credentials: Credentials?) throws {
        defer { isFull = false }
        if isFull { throw Locked() }
        kept = credentials
    }
}

private actor Log {
    private(set) var entries: [String] = []

    func add(_ entry: String) { entries.append(entry) }
}

final class ServiceTests: XCTestCase {
    private let first = Credentials(accessToken: "access-1", refreshToken: "refresh-1")

    func testARefreshBringsNoSessionBackThatWasLeftMeanwhile() async throws {
        let service = FakeService { pair($0 + 1) }
        for other in [nil, Credentials(accessToken: "another", refreshToken: "another's")] {
            let (store, meanwhile) = (MemoryCredentials(first), Meanwhile())
            let key = try HookedKey(key: SoftwareKey()) { await meanwhile.run() }
            let client = CountersignClient(
                baseURL: service.url, deviceKey: key, credentials: store, provesRefreshes: true)
            await meanwhile.does { try? await client.session.keep(other) }
            try await client.refresh()
            let kept = await store.load()
            XCTAssertEqual(kept?.refreshToken, other?.refreshToken)
        }
    }

    func testARefreshBringsNoSessionBackThatWasLeftMeanwhileWithTheStoreLocked() async throws {
        let service = FakeService { pair($0 + 1) }
        let (store, meanwhile) = (LockableCredentials(first), Meanwhile())
        let key = try HookedKey(key: SoftwareKey()) { await meanwhile.run() }
        let client = CountersignClient(
            baseURL: service.url, deviceKey: key, credentials: store, provesRefreshes: true)
        await meanwhile.does {
            await store.lock()
            try? await client.session.keep(nil)
        }
        try? await client.refresh()
        let kept = try? await client.session.credentials
        XCTAssertNil(kept)
    }

    func testAnEndedSessionTakesNoneWithItThatWasOpenedMeanwhile() async throws {
        let store = SlowCredentials(first)
        let client = try CountersignClient(
            baseURL: "http://gateway.test", deviceKey: SoftwareKey(), credentials: store)
        let next = Credentials(accessToken: "another", refreshToken: "another's")
        do {
            try await client.call { _ in
                // A sign-in ends the device's session before; its own answer comes while the store is asked.
                await store.duringNextLoad { try await client.session.keep(next) }
                throw ProblemError.sessionEnded
            }
            XCTFail("it was done")
        } catch let problem as ProblemError {
            XCTAssertTrue(problem.isSessionOver)
        }
        let kept = await store.kept
        XCTAssertEqual(kept?.refreshToken, next.refreshToken)
    }

    func testASessionThatTheStoreFailedToRemoveIsRemovedTheNextTime() async throws {
        let store = FullCredentials(first)
        let client = try CountersignClient(
            baseURL: "http://gateway.test", deviceKey: SoftwareKey(), credentials: store)
        for _ in 1...2 { try? await client.call { _ -> Void in throw ProblemError.sessionEnded } }
        let kept = await store.kept
        XCTAssertNil(kept)
    }

    func testASessionThatIsLeftWhileItIsSavedIsNotStoredAfterwards() async throws {
        let store = SlowlySavedCredentials()
        let client = try CountersignClient(
            baseURL: "http://gateway.test", deviceKey: SoftwareKey(), credentials: store)
        let opened = Task { [first] in try await client.session.keep(first) }
        while await store.saves == 0 { await Task.yield() }
        try await client.session.keep(nil)
        try await opened.value
        let kept = await store.kept
        XCTAssertNil(kept)
    }

    func testAStoredSessionOfAnotherKeyAsOfAnotherPhonesBackupIsNone() async throws {
        let (own, other) = (try SoftwareKey(), try SoftwareKey())
        for key in [own, other] {
            let claims = #"{"account_key":{"alg":"ES256","key":"\#(key.publicKey.publicKey)"}}"#
            let token = "e30.\(base64url(Bytes(claims.utf8))).e30"
            let store = MemoryCredentials(Credentials(accessToken: token, refreshToken: "refresh-1"))
            let client = CountersignClient(baseURL: "http://gateway.test", deviceKey: own, credentials: store)
            let loaded = try await client.session.credentials
            XCTAssertEqual(loaded?.accessToken, key === own ? token : nil)
        }
    }

    func testTheNextPairIsKeptWhereTheStoreIsLockedMeanwhile() async throws {
        let service = FakeService { pair($0 + 1) }
        let store = LockableCredentials(first)
        let key = try HookedKey(key: SoftwareKey()) { await store.lock() }
        let client = CountersignClient(
            baseURL: service.url, deviceKey: key, credentials: store, provesRefreshes: true)
        do {
            try await client.refresh()
            XCTFail("it was saved")
        } catch is Locked {}
        let kept = try await client.session.credentials
        XCTAssertEqual(kept?.refreshToken, "refresh-2")
    }

    func testALostRefreshIsSentAgainWhileTheServiceAcceptsItsToken() async throws {
        let service = FakeService { $0 == 1 ? nil : pair($0) }
        let client = try CountersignClient(
            baseURL: service.url, deviceKey: SoftwareKey(), credentials: MemoryCredentials(first))
        let started = Date()
        try await client.refresh()
        XCTAssertLessThan(Date().timeIntervalSince(started), 20)
        let kept = try await client.session.credentials
        XCTAssertEqual(kept?.refreshToken, "refresh-2")
    }

    func testARequestInRecoveryCarriesTheTokenOfTheRecoverySession() async throws {
        let service = FakeService(status: { _ in "429 Too Many Requests" }) { _ in
            ("application/problem+json", #"{"error":"RateLimited"}"#)
        }
        let phone = try CountersignClient(baseURL: service.url, deviceKey: SoftwareKey())
        let recovery = try CountersignClient(
            baseURL: service.url, deviceKey: SoftwareKey(), credentials: MemoryCredentials(first))
        for client in [nil, recovery] {
            do {
                _ = try await phone.requestEnrollment(
                    Login(token: "id-token"), chainName: "flow-emulator", device: NewDevice(name: "Phone"),
                    recovery: client)
                XCTFail("the request was taken")
            } catch let problem as ProblemError {
                XCTAssertEqual(problem.error, "RateLimited")
            }
        }
        let tokens = service.received.map { $0.contains("Authorization: Bearer \(first.accessToken)\r\n") }
        XCTAssertEqual(tokens, [false, true])
    }

    func testWorkThatIsCancelledBeforeItsTurnIsNotDone() async throws {
        let (queue, log) = (OneAtATime(), Log())
        let (gate, open) = AsyncStream<Void>.makeStream()
        let one = Task { try await queue.run { for await _ in gate {} } }
        await Task.yield()
        let two = Task { try await queue.run { await log.add("two") } }
        two.cancel()
        open.finish()
        _ = try await one.value
        do {
            try await two.value
            XCTFail("it was done")
        } catch is CancellationError {}
        let entries = await log.entries
        XCTAssertEqual(entries, [])
    }

    func testAQuietStreamIsOpenedAgainWithoutLongerAndLongerWaits() async throws {
        let service = FakeService {
            ("text/event-stream", "retry: 20\n\n" + ($0 < 12 ? "" : "event: key.added\ndata: {}\n\n"))
        }
        let client = try CountersignClient(
            baseURL: service.url, deviceKey: SoftwareKey(), credentials: MemoryCredentials(first))
        let started = Date()
        for try await event in client.events() {
            XCTAssertEqual(event.name, "key.added")
            break
        }
        XCTAssertLessThan(Date().timeIntervalSince(started), 10)
    }

    func testAStreamFollowsNoRedirect() async throws {
        let other = FakeService { _ in ("text/event-stream", "event: key.added\ndata: {}\n\n") }
        let redirect = "307 Temporary Redirect\r\nLocation: \(other.url)"
        let service = FakeService(status: { $0 == 1 ? redirect : "200 OK" }) { number in
            number == 1 ? ("text/plain", "") : ("text/event-stream", "event: key.removed\ndata: {}\n\n")
        }
        let client = try CountersignClient(
            baseURL: service.url, deviceKey: SoftwareKey(), credentials: MemoryCredentials(first))
        // It ends with the second answer: on Linux, Foundation crashes at a cancel during a redirect.
        for try await event in client.events() {
            XCTAssertEqual(event.name, "key.removed")
            break
        }
        XCTAssertEqual(other.requests, 0)
    }

    private var account: String {
        let address =
            #"{"address":"0x0000000000000001","profileImageUrl":"","domainName":"","chainName":"flow","chainId":1,"chainType":"cadence"}"#
        return
            #"{"account":{"id":"019a0000-0000-7000-8000-000000000001","addresses":[\#(address)],"parent":[],"createdAt":"2026-11-23T12:00:00.000Z"}}"#
    }

    /// Sends a transaction by a gateway and an access node in one; returns the id that was signed, and the
    /// one that was sealed.
    private func send(
        _ service: FakeService, _ key: SoftwareKey, by credentials: Credentials? = nil
    ) async throws -> (signed: String?, sealed: String) {
        let store = MemoryCredentials(credentials ?? first)
        let client = CountersignClient(baseURL: service.url, deviceKey: key, credentials: store)
        let network = Network(
            chainName: "flow", chainType: "cadence", chainId: 1, accessNode: service.url, paymaster: "0x01",
            explorerUrl: "")
        let log = Log()
        let sealed = try await client.sendTransaction(network, cadence: "transaction {}") { await log.add($0) }
        return await (log.entries.first, sealed)
    }

    func testAnAnswerThatIsNoneOfAnAccessNodeIsAnErrorOfTheNode() async throws {
        let service = FakeService { [account] in $0 == 1 ? ("application/json", account) : ("text/html", "<html>") }
        do {
            _ = try await send(service, SoftwareKey())
            XCTFail("it was sent")
        } catch let error as AccessNodeError {
            XCTAssertEqual(error.message, "<html>")
        }
    }

    private let sealed = #"{"status":"Sealed","status_code":0,"error_message":""}"#

    private func answersBeforeSubmission(of key: SoftwareKey) -> [String] {
        let signature = #"{"signature":{"addr":"0x01","keyId":0,"signature":"\#(String(repeating: "aa", count: 64))"}}"#
        return [
            account, #"{"keys":[{"index":"1","public_key":"0x\#(key.publicKey.publicKey)","sequence_number":"7"}]}"#,
            #"[{"header":{"id":"\#(String(repeating: "ab", count: 32))"}}]"#, signature, signature,
        ]
    }

    func testTheSameBytesAreSubmittedAgainWhereANodeThatRefusesMayHaveThem() async throws {
        let key = try SoftwareKey()
        let before = answersBeforeSubmission(of: key)
        // Whether the node has them: it does not say, and it has not. Another node refuses the last ones.
        for statuses in [["500 No", "503 No"], ["522 No", "404 No"], ["503 No", "404 No", "400 No", "404 No"]] {
            let answers = before + statuses.map { _ in "" } + ["{}"]
            let status: @Sendable (Int) -> String = {
                statuses.indices.contains($0 - 6) ? statuses[$0 - 6] : "200 OK"
            }
            let service = FakeService(status: status) { [sealed] number in
                ("application/json", number <= answers.count ? answers[number - 1] : sealed)
            }
            let ids = try await send(service, key)
            XCTAssertEqual(ids.sealed, ids.signed)
        }
    }

    func testATransactionOfOnePersonIsNotSentInTheNameOfAnother() async throws {
        let service = FakeService { [account] _ in ("application/json", account) }
        let token = "e30.\(base64url(Bytes(#"{"sub":"another"}"#.utf8))).e30"
        do {
            _ = try await send(service, SoftwareKey(), by: Credentials(accessToken: token, refreshToken: "refresh-1"))
            XCTFail("it was sent")
        } catch let problem as ProblemError {
            XCTAssertTrue(problem.isSessionOver)
        }
        XCTAssertEqual(service.requests, 1)
    }

    func testATransactionThatRanUnderTheIdOfItsPayersSignatureInTheOtherFormHasNotFailed() async throws {
        let key = try SoftwareKey()
        let wrong = #"{"status":"Sealed","status_code":1,"error_message":"[Error Code: 1007] invalid"}"#
        let revoked = #"{"status":"Sealed","status_code":1,"error_message":"[Error Code: 1008] invalid"}"#
        func sendBeside(_ twin: String, own: String? = nil) async throws -> (signed: String?, sealed: String) {
            let answers = answersBeforeSubmission(of: key) + ["{}", own ?? wrong]
            return try await send(
                FakeService { ("application/json", $0 <= answers.count ? answers[$0 - 1] : twin) }, key)
        }
        for own in [wrong, revoked, #"{"status":"Expired","status_code":0}"#] {
            let ids = try await sendBeside(sealed, own: own)
            XCTAssertEqual(ids.sealed.count, 64)
            XCTAssertNotEqual(ids.sealed, ids.signed)
        }
        do {
            _ = try await sendBeside(wrong)
            XCTFail("it has run")
        } catch is TransactionFailedError {}
        do {
            _ = try await sendBeside("<html>")
            XCTFail("nothing is known")
        } catch is AccessNodeError {}
    }

    func testNoNumberOfAnAnswerIsTooLargeToWait() throws {
        let problem = ProblemError(status: 503, body: nil, retryAfter: "99999999999")
        XCTAssertLessThan(Double(problem.retryAfterSeconds) * 1e9, Double(UInt64.max))
        var reader = EventReader()
        for text in ["nan", "inf", "-1", "1e300"] { _ = try reader.read("retry: \(text)\n\n".utf8) }
        XCTAssertEqual(reader.retrySeconds, 1)
    }
}

import CountersignAPI
import Foundation

/// A login at the identity provider, bound to this device's key by `loginNonce`: its ID token.
public struct Login: Sendable {
    public let token: String
    public let method: LoginMethod
    public let provider: String

    public init(token: String, method: LoginMethod = .idTokenChannel, provider: String = "") {
        self.token = token
        self.method = method
        self.provider = provider
    }
}

private let approvalTries = 3
private let askAgain = 1.0

/// One device's side of the API. It signs what must be signed, keeps the session's tokens, and refreshes an
/// expired access token by itself. `call` does any generated operation with the session's token. Every call
/// throws ProblemError where the service refuses.
public final class CountersignClient: Sendable {
    public let deviceKey: any DeviceKey
    public let session: ClientSession
    let sending = OneAtATime()

    /// `provesRefreshes`: each refresh is signed by the device's key, and the service requires it from the
    /// first time on; for keys that sign without a dialog.
    public init(
        baseURL: String, deviceKey: any DeviceKey, credentials: any CredentialStore = MemoryCredentials(),
        provesRefreshes: Bool = false
    ) {
        self.deviceKey = deviceKey
        let plain = baseURL.hasSuffix("/") ? String(baseURL.dropLast()) : baseURL
        session = ClientSession(
            baseURL: plain, store: credentials, key: deviceKey, provesRefreshes: provesRefreshes)
    }

    /// Does a generated operation with the session's token:
    /// `try await client.call { try await DevicesAPI.listDevices(apiConfiguration: $0) }`
    public func call<Answer: Sendable>(
        _ work: @escaping @Sendable (Configuration) async throws -> Answer
    ) async throws -> Answer {
        try await session.withAccess(work)
    }

    private func open<Answer: Sendable>(
        _ work: @escaping @Sendable (Configuration) async throws -> Answer
    ) async throws -> Answer {
        try await mapped { try await work(session.configuration()) }
    }

    /// The `nonce` to log in with: it binds the login to this device's key.
    public var loginNonce: String {
        get throws { try keyFingerprint(deviceKey.publicKey) }
    }

    private var algorithm: Algorithm? { Algorithm(rawValue: deviceKey.publicKey.algorithm) }

    private func userKey(_ device: NewDevice) -> NewUserKey {
        let publicKey = deviceKey.publicKey.publicKey
        var described = device
        described.publicKey = publicKey
        described.algorithm = algorithm
        return NewUserKey(type: "device", publicKey: publicKey, algorithm: algorithm, device: described)
    }

    private func on(_ login: Login, _ chainName: String) throws -> LoginOnChain {
        try LoginOnChain(
            method: login.method, token: login.token, provider: login.provider, nonce: loginNonce, chainName: chainName)
    }

    private func opened(_ signedIn: SignedIn) async throws -> SignedIn {
        try await session.keep(signedIn.credentials)
        return signedIn
    }

    /// Creates an account with this device's key and opens a session. Never sent twice without
    /// `idempotencyKey`.
    public func signUp(
        _ login: Login, chainName: String, device: NewDevice, idempotencyKey: String? = nil
    ) async throws -> SignedIn {
        let request = SignUpRequest(
            method: login.method, token: login.token, provider: login.provider, nonce: try loginNonce,
            chainName: chainName, userKey: userKey(device))
        let send: @Sendable (Configuration) async throws -> SignedIn = {
            try await AuthAPI.signUp(signUpRequest: request, idempotencyKey: idempotencyKey, apiConfiguration: $0)
        }
        return try await opened(session.credentials == nil ? open(send) : call(send))
    }

    /// Requests a challenge, signs it and opens a session.
    public func signIn(_ login: Login, chainName: String) async throws -> SignedIn {
        let asked = try KeyChallengeRequest(
            challengeType: "deviceKey", request: on(login, chainName), publicKey: deviceKey.publicKey.publicKey,
            algorithm: algorithm)
        let challenge = try await open {
            try await AuthAPI.issueChallenge(
                challengeRequest: .typeKeyChallengeRequest(asked), apiConfiguration: $0)
        }
        let signature = try await deviceKey.sign(challengeMessage(challenge.challengeData)).hex
        let answer = DeviceKeyChallengeAnswer(
            challengeType: .devicekey, challengeData: challenge.challengeData,
            deviceKey: KeySignature(signature: signature))
        return try await opened(
            open {
                try await AuthAPI.respondChallenge(
                    challengeAnswer: .typeDeviceKeyChallengeAnswer(answer), apiConfiguration: $0)
            })
    }

    /// Exchanges the refresh token for the next pair; expired access tokens are exchanged without this call.
    public func refresh() async throws {
        guard let used = try await session.credentials else { throw ProblemError.sessionEnded }
        _ = try await session.refresh(used)
    }

    /// Ends the session and forgets its tokens; a session that is over already is no error.
    public func signOut() async throws {
        guard let used = try await session.credentials else { return }
        do {
            try await call { try await AuthAPI.signOut(apiConfiguration: $0) }
        } catch let problem as ProblemError where problem.status == 401 {}
        // Not a session that was opened meanwhile.
        _ = try await session.end(sessionId: claim("sid", of: used))
    }

    /// The account of the session.
    public func me() async throws -> Account {
        try await call { try await AccountAPI.getMe(apiConfiguration: $0) }.account
    }

    /// The account's events as they happen, after `lastEventId` if there is one. Resumes by itself.
    public func events(after lastEventId: String = "") -> AsyncThrowingStream<AccountEvent, any Error> {
        followEvents(session, after: lastEventId)
    }

    /// Requests the enrollment of this device, which is new to the account. Then show `matchingCode`. With
    /// `recovery`, a client that is signed in with the account's recovery key, requests of others do not fill
    /// this one's place.
    public func requestEnrollment(
        _ login: Login, chainName: String, device: NewDevice, idempotencyKey: String? = nil,
        recovery: CountersignClient? = nil
    ) async throws -> TwoFactorRequested {
        let request = try TwoFactorEnrollmentRequest(request: on(login, chainName), userKey: userKey(device))
        let send: @Sendable (Configuration) async throws -> TwoFactorRequested = {
            try await AuthAPI.requestTwoFactor(
                twoFactorEnrollmentRequest: request, idempotencyKey: idempotencyKey, apiConfiguration: $0)
        }
        guard let recovery else { return try await open(send) }
        return try await recovery.call(send)
    }

    /// A code to show on this new device until a registered one has decided. Never send it anywhere.
    public func matchingCode() -> String {
        Countersign.matchingCode(accountKey: deviceKey.publicKey, deviceKey: deviceKey.publicKey)
    }

    /// Opens this new device's session as soon as a registered device has approved it and the chain has
    /// sealed it. Throws ProblemError when the request is rejected, expired or failed. `signIn` is called
    /// where the answer was lost: the device is registered then. Without it that is a ProblemError too,
    /// TwoFactorAuthFinished.
    public func awaitEnrollment(
        _ requested: TwoFactorRequested, signIn: (@Sendable () async throws -> SignedIn)? = nil
    ) async throws -> SignedIn {
        let id = requested.twoFactorAuth.id.uuidString.lowercased()
        let request = FinishTwoFactorRequest(twoFactorAuthRequestId: id)
        let configuration = session.configuration(requested.ephemeralAccessToken)
        while true {
            var seconds = askAgain
            do {
                return try await opened(
                    mapped {
                        try await AuthAPI.finishTwoFactor(
                            finishTwoFactorRequest: request, apiConfiguration: configuration)
                    })
            } catch let problem as ProblemError {
                if problem.error == "TwoFactorAuthFinished", let signIn { return try await signIn() }
                let waits = problem.error == "TwoFactorAuthPending" || problem.status == 429 || problem.status >= 500
                guard waits else { throw problem }
                seconds = max(askAgain, Double(problem.retryAfterSeconds))
            } catch let error where !isLost(error) {
                throw error
            }
            try await Task.sleep(nanoseconds: UInt64(seconds * 1e9))
        }
    }

    /// The requests of new devices that wait for a decision.
    public func pendingEnrollments() async throws -> [ShownEnrollment] {
        let answer = try await call {
            try await DevicesAPI.listTwoFactor(status: "pending", apiConfiguration: $0)
        }
        return try answer.twoFactorAuths.map(shownEnrollment)
    }

    private func twoFactor(_ id: String) async throws -> TwoFactorAuth {
        try await call { try await DevicesAPI.getTwoFactor(id: id, apiConfiguration: $0) }.twoFactorAuth
    }

    /// One request, as a person decides on it.
    public func enrollment(_ id: String) async throws -> ShownEnrollment { try await shownEnrollment(twoFactor(id)) }

    /// Approves a request with the code that the person typed. Signs only a message that adds one key to this
    /// account, the key of that code. Throws EnrollmentError, and signs nothing, for any other.
    public func approveEnrollment(_ id: String, typedCode: String) async throws {
        let account = try await me()
        var checked: PublicKey?
        for count in 1...approvalTries {
            let auth = try await twoFactor(id)
            let shown = try shownEnrollment(auth)
            checked = try check(shown, account, typedCode, checked)
            let signature = try await deviceKey.sign(Bytes(hex: shown.message)).hex
            // By the id of exactly this message: if the request has another one by now, the service rejects
            // it.
            let messageId = auth.request.id.uuidString.lowercased()
            let approval = TwoFactorApproval.typeKeySignature(KeySignature(signature: signature))
            do {
                return try await call {
                    try await DevicesAPI.approveTwoFactor(
                        id: messageId, twoFactorApproval: approval, apiConfiguration: $0)
                }
            } catch let problem as ProblemError {
                guard problem.error == "MessageRenewed", count < approvalTries else { throw problem }
            }
        }
    }

    private func check(
        _ shown: ShownEnrollment, _ account: Account, _ typedCode: String, _ earlier: PublicKey?
    ) throws -> PublicKey {
        let addition = try shown.addition()
        let isOwn = account.addresses.contains { $0.chainType == "cadence" && sameBytes($0.address, addition.address) }
        guard isOwn, shown.accountId == account.id.uuidString.lowercased() else {
            throw EnrollmentError(description: "the message is about another account")
        }
        guard try shown.isMatchingCode(typedCode) else {
            throw EnrollmentError(description: "the codes are not the same")
        }
        guard earlier == nil || earlier == addition.key else {
            throw EnrollmentError(description: "the renewed message adds another key")
        }
        return addition.key
    }

    /// Rejects a request, for good.
    public func rejectEnrollment(_ id: String) async throws {
        try await call { try await DevicesAPI.rejectTwoFactor(id: id, apiConfiguration: $0) }
    }
}

/// Does one piece of work after the other, in the order of the calls.
actor OneAtATime {
    private var last: Task<Void, Never>?

    func run<Answer: Sendable>(_ work: @escaping @Sendable () async throws -> Answer) async throws -> Answer {
        let before = last
        let mine = Task { () async throws -> Answer in
            await before?.value
            try Task.checkCancellation()
            return try await work()
        }
        last = Task { _ = try? await mine.value }
        return try await withTaskCancellationHandler { try await mine.value } onCancel: { mine.cancel() }
    }
}

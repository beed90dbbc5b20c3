import CountersignAPI
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The service's error answer (RFC 9457).
public struct ProblemError: Error, Sendable, CustomStringConvertible {
    public let status: Int
    /// The stable code, such as `PleaseRegisterKey`; `Unknown` where the answer was no problem document.
    /// Treat an unknown code by its `status`.
    public let error: String
    /// For SigningRefused: the rule that rejected.
    public let reason: String
    public let title: String
    public let detail: String
    /// For TimeLockRequired: when the same request is granted.
    public let availableAt: String
    public let retryAfterSeconds: Int
    /// Each field that is not valid, and why.
    private let fields: String

    public var description: String {
        let problem = "\(status) \(error)\(reason.isEmpty ? "" : " (\(reason))"): \(detail)"
        return fields.isEmpty ? problem : "\(problem): \(fields)"
    }

    /// The session is over and its tokens are dropped; only signing in opens another one.
    public var isSessionOver: Bool {
        status == 401 && ["SessionEnded", "InvalidRefreshToken", "RefreshTokenReused"].contains(error)
    }

    init(status: Int, body: Data?, retryAfter: String? = nil) {
        let document = body.flatMap { try? JSONSerialization.jsonObject(with: $0) } as? [String: Any] ?? [:]
        func text(_ name: String) -> String { document[name] as? String ?? "" }
        self.status = status
        error = text("error").isEmpty ? "Unknown" : text("error")
        reason = text("reason")
        title = text("title")
        detail = text("detail")
        availableAt = text("availableAt")
        retryAfterSeconds = retryAfter.flatMap { UInt32($0) }.map(Int.init) ?? 0
        // Entries of another shape are of another program's answer.
        let named = (document["errors"] as? [Any] ?? []).compactMap { entry -> String? in
            let field = entry as? [String: Any]
            guard let pointer = field?["pointer"] as? String, let detail = field?["detail"] as? String else { return nil }
            return "\(pointer) \(detail)"
        }
        fields = named.joined(separator: "; ")
    }

    static let sessionEnded = ProblemError(status: 401, body: Data(#"{"error":"SessionEnded"}"#.utf8))
}

/// Does a call of the generated code; an answer that is no success becomes a ProblemError, a lost one its
/// cause.
func mapped<Answer: Sendable>(_ work: @Sendable () async throws -> Answer) async throws -> Answer {
    do {
        return try await work()
    } catch let ErrorResponse.error(status, body, response, cause) {
        guard status >= 100 else { throw cause }
        let retryAfter = (response as? HTTPURLResponse)?.value(forHTTPHeaderField: "Retry-After")
        throw ProblemError(status: status, body: body, retryAfter: retryAfter)
    }
}

/// Returns whether nothing is known of what became of a request. Proxies have statuses of their own, as 522.
func isLost(_ error: any Error) -> Bool {
    if let problem = error as? ProblemError { return problem.status >= 502 }
    return error is URLError
}

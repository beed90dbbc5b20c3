import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// One event of the account, such as `two-factor.requested`. Ignore names and members that you do not know.
public struct AccountEvent: Sendable, Equatable {
    public let id: String
    public let name: String
    /// JSON: ids and states.
    public let data: Data

    /// A member of the data that is a text; "" where there is none.
    public func text(_ member: String) -> String {
        (try? JSONSerialization.jsonObject(with: data) as? [String: Any])?[member] as? String ?? ""
    }
}

private let maxEventBytes = 1 << 20

/// Reads server-sent events; an event without an empty line after it is left out.
/// https://html.spec.whatwg.org/multipage/server-sent-events.html
struct EventReader {
    var lastEventId = ""
    var retrySeconds = 1.0
    private var line: Bytes = []
    private var endedByReturn = false
    private var id: String?
    private var name = ""
    private var data = ""

    /// Begins with another connection: of an event that broke off nothing is left, and it comes again.
    mutating func begin() {
        (line, endedByReturn, id, name, data) = ([], false, nil, "", "")
    }

    /// Takes the next bytes of the stream; returns the events that are complete.
    mutating func read(_ bytes: some Sequence<UInt8>) throws -> [AccountEvent] {
        var events: [AccountEvent] = []
        for byte in bytes {
            let isReturn = byte == 0x0d
            if byte == 0x0a && endedByReturn {
                endedByReturn = false
                continue
            }
            endedByReturn = isReturn
            guard isReturn || byte == 0x0a else {
                line.append(byte)
                guard line.count + data.utf8.count <= maxEventBytes else { throw FormatError("an event is too long") }
                continue
            }
            if let event = take(String(decoding: line, as: UTF8.self)) { events.append(event) }
            line = []
        }
        return events
    }

    private mutating func take(_ line: String) -> AccountEvent? {
        if line.isEmpty {
            lastEventId = id ?? lastEventId
            defer { (name, data) = ("", "") }
            guard !data.isEmpty else { return nil }
            return AccountEvent(id: lastEventId, name: name.isEmpty ? "message" : name, data: Data(data.utf8.dropLast()))
        }
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        var value = parts.count > 1 ? parts[1] : ""
        if value.hasPrefix(" ") { value = value.dropFirst() }
        switch parts[0] {
        case "event": name = String(value)
        case "data": data += value + "\n"
        case "id": if !value.unicodeScalars.contains("\0") { id = String(value) }
        case "retry": retrySeconds = UInt32(value).map { Double($0) / 1_000 } ?? retrySeconds
        default: break
        }
        return nil
    }
}

/// A connection without a byte for three heartbeats is lost.
private let silence: TimeInterval = 45
private let longestWait = 30.0

/// Follows the account's events across connections. Ends with ProblemError where a retry cannot help.
func followEvents(_ session: ClientSession, after lastEventId: String) -> AsyncThrowingStream<AccountEvent, any Error> {
    AsyncThrowingStream { continuation in
        let following = Task {
            var reader = EventReader()
            reader.lastEventId = lastEventId
            var failures = 0
            while !Task.isCancelled {
                var wait = 0.0
                reader.begin()
                do {
                    for try await bytes in try await connect(session, after: reader.lastEventId) {
                        failures = 0
                        for event in try reader.read(bytes) {
                            let isEnd = event.name == "session.ended"
                            let ended = isEnd ? try await session.end(sessionId: event.text("sessionId")) : false
                            continuation.yield(event)
                            if ended { throw ProblemError.sessionEnded }
                        }
                    }
                } catch let problem as ProblemError {
                    // A load balancer's answer, for example, is no rejection by the service.
                    let passes = problem.error == "Unknown" || problem.status >= 500
                    guard passes || [408, 429].contains(problem.status) else {
                        return continuation.finish(throwing: problem)
                    }
                    wait = Double(problem.retryAfterSeconds)
                } catch {}
                let backoff = min(longestWait, reader.retrySeconds * Double(1 << min(failures, 10)))
                failures += 1
                try? await Task.sleep(nanoseconds: UInt64(max(wait, backoff * .random(in: 0.5...1)) * 1e9))
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in following.cancel() }
    }
}

private func connect(_ session: ClientSession, after id: String) async throws -> AsyncThrowingStream<Data, any Error> {
    try await session.withAccess { configuration in
        var request = URLRequest(url: URL(string: "\(configuration.basePath)/device/v1/events")!)
        request.timeoutInterval = silence
        request.setValue("text/event-stream", forHTTPHeaderField: "Accept")
        for (name, value) in configuration.customHeaders { request.setValue(value, forHTTPHeaderField: name) }
        if !id.isEmpty { request.setValue(id, forHTTPHeaderField: "Last-Event-ID") }
        return try await EventConnection().open(request)
    }
}

/// One answer as it comes; `URLSession.bytes` is not on every platform.
private final class EventConnection: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private let lock = NSLock()
    private var opened: CheckedContinuation<AsyncThrowingStream<Data, any Error>, any Error>?
    private var bytes: AsyncThrowingStream<Data, any Error>.Continuation?
    private var refused: HTTPURLResponse?
    private var body = Data()

    func open(_ request: URLRequest) async throws -> AsyncThrowingStream<Data, any Error> {
        let session = URLSession(configuration: .ephemeral, delegate: self, delegateQueue: nil)
        let task = session.dataTask(with: request)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                lock.withLock { opened = continuation }
                task.resume()
                session.finishTasksAndInvalidate()
            }
        } onCancel: {
            task.cancel()
        }
    }

    /// Follows no redirect: it would take the token to another server.
    func urlSession(
        _: URLSession, task _: URLSessionTask, willPerformHTTPRedirection _: HTTPURLResponse,
        newRequest _: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    func urlSession(
        _: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        let answer = response as? HTTPURLResponse
        lock.withLock {
            if answer?.statusCode == 200 {
                let stream = AsyncThrowingStream<Data, any Error> { continuation in
                    continuation.onTermination = { _ in dataTask.cancel() }
                    bytes = continuation
                }
                opened?.resume(returning: stream)
                opened = nil
            } else {
                refused = answer
            }
        }
        completionHandler(.allow)
    }

    func urlSession(_: URLSession, dataTask _: URLSessionDataTask, didReceive data: Data) {
        lock.withLock {
            if let bytes { bytes.yield(data) } else { body.append(data) }
        }
    }

    func urlSession(_: URLSession, task _: URLSessionTask, didCompleteWithError error: (any Error)?) {
        lock.withLock {
            let problem = refused.map {
                ProblemError(status: $0.statusCode, body: body, retryAfter: $0.value(forHTTPHeaderField: "Retry-After"))
            }
            opened?.resume(throwing: problem ?? error ?? URLError(.networkConnectionLost))
            opened = nil
            bytes?.finish(throwing: error)
        }
    }
}

import CountersignAPI
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The chain refused the transaction, or it ran out of time there.
public struct TransactionFailedError: Error, CustomStringConvertible {
    public let id: String
    public let message: String

    public var description: String { "transaction \(id) failed: \(message)" }
}

/// The access node refused a request or answered something else, or did not answer: then `status` is 0.
public struct AccessNodeError: Error {
    public let status: Int
    public let message: String
}

private let poll: UInt64 = 500_000_000
/// No answer, or one of a load balancer, for example: the node may have the transaction.
private func isLost(_ status: Int) -> Bool { status == 0 || status == 429 || status >= 502 }
private let sealSeconds: TimeInterval = 60

extension CountersignClient {
    /// Builds a transaction of the account, has it signed by device, server and paymaster, submits it and
    /// waits for the seal; returns its id. Those of one client are sent one after another. `onSigned` gets
    /// the id before anything is submitted: keep it until the result is known, and ask `awaitSeal` for it
    /// after a crash. Throws ProblemError where the service refuses to sign, or another person signed in
    /// before its turn, TransactionFailedError where the chain refuses.
    public func sendTransaction(
        _ network: Network, cadence: String, arguments: [CadenceValue] = [], gasLimit: UInt64 = 1_000,
        onSigned: @escaping @Sendable (String) async throws -> Void = { _ in }
    ) async throws -> String {
        let owner = try await session.credentials.flatMap { claim("sub", of: $0) }
        return try await sending.run { [self] in
            let node = AccessNode(baseURL: network.accessNode)
            let account = try await me()
            // A transaction of one person is never sent in another's name.
            guard owner == nil || owner == account.id.uuidString.lowercased() else { throw ProblemError.sessionEnded }
            let addresses = account.addresses
            guard let found = addresses.first(where: { $0.chainName == network.chainName && $0.chainType == "cadence" })
            else { throw FormatError("the account has no address on \(network.chainName) yet") }
            let address = plain(found.address)
            let (keyId, sequenceNumber) = try await node.key(of: address, deviceKey.publicKey.publicKey)
            let payload = try await TransactionPayload(
                script: cadence, arguments: arguments.map(\.encoded), referenceBlockId: node.latestSealedBlock(),
                gasLimit: gasLimit,
                proposalKey: ProposalKey(address: address, keyId: keyId, sequenceNumber: sequenceNumber),
                payer: plain(network.paymaster), authorizers: [address])
            let transaction = try await sign(payload, chainName: network.chainName)
            let id = try transactionId(transaction)
            try await onSigned(id)
            try await node.submit(transaction, id: id)
            do {
                try await node.awaitSeal(id)
                return id
            } catch let error as TransactionFailedError {
                // The payer's signature has another form, under which somebody else may have submitted the
                // same transaction. Then this one is refused for its number, or for a key that was revoked
                // since, or expires.
                guard let twin = try await node.executedTwin(of: transaction) else { throw error }
                try await node.awaitSeal(twin)
                return twin
            }
        }
    }

    /// Collects the three signatures: device and server over the payload, then the paymaster over the
    /// envelope.
    func sign(_ payload: TransactionPayload, chainName: String) async throws -> FlowTransaction {
        let message = try payloadMessage(payload)
        let key = payload.proposalKey
        let device = try await TransactionSignature(
            address: key.address, keyId: key.keyId, signature: deviceKey.sign(message).hex)
        let request = SignRequest(message: message.hex, chainName: chainName)
        let server = try await call {
            try await SigningAPI.signTransaction(signRequest: request, apiConfiguration: $0)
        }
        let signatures = [device, signature(server.signature)]
        let envelope = SignRequest(message: try envelopeMessage(payload, signatures).hex, chainName: chainName)
        let payer = try await call {
            try await SigningAPI.signPaymaster(signRequest: envelope, apiConfiguration: $0)
        }
        return FlowTransaction(
            payload: payload, payloadSignatures: signatures, envelopeSignatures: [signature(payer.signature)])
    }
}

/// Waits for the seal of a transaction whose id is known. Throws TransactionFailedError where the chain
/// refused.
public func awaitSeal(_ network: Network, _ id: String) async throws {
    try await AccessNode(baseURL: network.accessNode).awaitSeal(id)
}

/// Flow's error 1007. Further on may be a text of the transaction's author, such as that of a panic.
private func isWrongSequenceNumber(_ message: String) -> Bool {
    message.lowercased().hasPrefix("[error code: 1007]")
}

private func signature(_ given: Signature) -> TransactionSignature {
    TransactionSignature(address: plain(given.addr), keyId: UInt32(given.keyId), signature: given.signature)
}

private func plain(_ address: String) -> String {
    (address.hasPrefix("0x") ? String(address.dropFirst(2)) : address).lowercased()
}

/// The part of Flow's Access API (REST) that a device needs.
private struct AccessNode {
    let baseURL: String

    private struct Block: Decodable {
        struct Header: Decodable { let id: String }
        let header: Header
    }

    private struct Keys: Decodable {
        struct Key: Decodable {
            let index: String
            let publicKey: String
            let sequenceNumber: String
            let revoked: Bool?
        }
        let keys: [Key]?
    }

    private struct Result: Decodable {
        let status: String?
        let statusCode: Int?
        let errorMessage: String?
    }

    func latestSealedBlock() async throws -> String {
        let blocks: [Block] = try await get("/v1/blocks?height=sealed")
        guard let block = blocks.first else { throw FormatError("the access node has no block") }
        return block.header.id
    }

    /// Returns the index and the next sequence number of a key that is on the account.
    func key(of address: String, _ publicKey: String) async throws -> (UInt32, UInt64) {
        let account: Keys = try await get("/v1/accounts/\(address)?expand=keys")
        let key = account.keys?.first { plain($0.publicKey) == publicKey && $0.revoked != true }
        guard let key, let index = UInt32(key.index), let number = UInt64(key.sequenceNumber) else {
            throw FormatError("this device's key is not on the account 0x\(address)")
        }
        return (index, number)
    }

    /// Submits; the same bytes again where no answer comes, since they run once.
    func submit(_ transaction: FlowTransaction, id: String) async throws {
        let deadline = Date() + sealSeconds
        let body = try JSONEncoder().encode(Submitted(transaction))
        var mayHaveIt = false
        while true {
            do {
                _ = try await call("/v1/transactions", body)
                return
            } catch let error as AccessNodeError {
                let isKnown = error.status == 0 ? nil : await isKnown(id)
                // The node has it already, from the call whose answer was lost.
                if isKnown == true { return }
                // Once an answer was lost, a refusal, perhaps of another node, says nothing about it.
                mayHaveIt = mayHaveIt || isLost(error.status) || isKnown == nil
                guard mayHaveIt else { throw error }
                guard Date() < deadline else {
                    throw AccessNodeError(status: 0, message: "no answer in time: \(error.message)")
                }
            }
            try await Task.sleep(nanoseconds: poll)
        }
    }

    /// Returns whether the node has a transaction; nil where it does not say.
    private func isKnown(_ id: String) async -> Bool? {
        do {
            _ = try await call("/v1/transactions/\(id)")
            return true
        } catch let error as AccessNodeError where error.status == 404 {
            return false
        } catch {
            return nil
        }
    }

    func awaitSeal(_ id: String) async throws {
        let deadline = Date() + sealSeconds
        while Date() < deadline {
            let result: Result? = try? await get("/v1/transaction_results/\(id)")
            let message = result?.errorMessage ?? ""
            if result?.status == "Expired" { throw TransactionFailedError(id: id, message: "Expired") }
            if result?.status == "Sealed" {
                guard message.isEmpty, result?.statusCode == 0 else { throw TransactionFailedError(id: id, message: message) }
                return
            }
            try await Task.sleep(nanoseconds: poll)
        }
        throw AccessNodeError(status: 0, message: "the transaction \(id) was not sealed in time")
    }

    /// Returns the id under which the chain has run this very transaction with the payer's signature in its
    /// other form, if it has. Throws where the node does not answer.
    func executedTwin(of transaction: FlowTransaction) async throws -> String? {
        for id in try twinIds(transaction) {
            do {
                let result: Result = try await get("/v1/transaction_results/\(id)")
                let hasRun = result.status == "Executed" || result.status == "Sealed"
                if hasRun, !isWrongSequenceNumber(result.errorMessage ?? "") { return id }
            } catch let error as AccessNodeError where error.status == 404 {}
        }
        return nil
    }

    private func get<Answer: Decodable>(_ path: String) async throws -> Answer {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let data = try await call(path)
        do { return try decoder.decode(Answer.self, from: data) } catch {
            throw AccessNodeError(status: 200, message: String(decoding: data.prefix(500), as: UTF8.self))
        }
    }

    private func call(_ path: String, _ body: Data? = nil) async throws -> Data {
        var request = URLRequest(url: URL(string: baseURL + path)!)
        request.timeoutInterval = 10
        if let body {
            request.httpMethod = "POST"
            request.httpBody = body
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        }
        let (data, response): (Data, URLResponse)
        do {
            (data, response) = try await URLSession.shared.data(for: request)
        } catch {
            throw AccessNodeError(status: 0, message: "no answer: \(error)")
        }
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        guard (200..<300).contains(status) else {
            throw AccessNodeError(status: status, message: String(decoding: data.prefix(500), as: UTF8.self))
        }
        return data
    }
}

/// A transaction as the Access API takes it.
private struct Submitted: Encodable {
    struct Key: Encodable {
        let address: String
        let key_index: String
        let sequence_number: String
    }

    struct Signed: Encodable {
        let address: String
        let key_index: String
        let signature: String
        let extension_data: String?
    }

    let script: String
    let arguments: [String]
    let reference_block_id: String
    let gas_limit: String
    let payer: String
    let proposal_key: Key
    let authorizers: [String]
    let payload_signatures: [Signed]
    let envelope_signatures: [Signed]

    init(_ transaction: FlowTransaction) throws {
        let payload = transaction.payload
        let key = payload.proposalKey
        func base64(_ bytes: Bytes) -> String { Data(bytes).base64EncodedString() }
        func signed(_ given: TransactionSignature) throws -> Signed {
            try Signed(
                address: given.address, key_index: String(given.keyId), signature: base64(Bytes(hex: given.signature)),
                extension_data: given.extensionData.map { base64(try Bytes(hex: $0)) })
        }
        script = base64(Bytes(payload.script.utf8))
        arguments = payload.arguments.map { base64(Bytes($0.utf8)) }
        reference_block_id = payload.referenceBlockId
        gas_limit = String(payload.gasLimit)
        payer = payload.payer
        proposal_key = Key(
            address: key.address, key_index: String(key.keyId), sequence_number: String(key.sequenceNumber))
        authorizers = payload.authorizers
        payload_signatures = try transaction.payloadSignatures.map(signed)
        envelope_signatures = try transaction.envelopeSignatures.map(signed)
    }
}

import Foundation

/// The proposer's key, with the sequence number that the transaction consumes. `address`: 16 hex digits.
public struct ProposalKey: Equatable, Sendable {
    public var address: String
    public var keyId: UInt32
    public var sequenceNumber: UInt64

    public init(address: String, keyId: UInt32, sequenceNumber: UInt64) {
        self.address = address
        self.keyId = keyId
        self.sequenceNumber = sequenceNumber
    }
}

/// A signature of one account key, raw r||s in hex; a passkey's has extension data (FLIP 264).
public struct TransactionSignature: Equatable, Sendable {
    public var address: String
    public var keyId: UInt32
    public var signature: String
    public var extensionData: String?

    public init(address: String, keyId: UInt32, signature: String, extensionData: String? = nil) {
        self.address = address
        self.keyId = keyId
        self.signature = signature
        self.extensionData = extensionData
    }
}

/// The payload of a Flow transaction. Addresses are 16 hex digits; arguments are the exact texts that go on
/// chain.
public struct TransactionPayload: Equatable, Sendable {
    public var script: String
    public var arguments: [String]
    public var referenceBlockId: String
    public var gasLimit: UInt64
    public var proposalKey: ProposalKey
    public var payer: String
    public var authorizers: [String]

    public init(
        script: String, arguments: [String], referenceBlockId: String, gasLimit: UInt64, proposalKey: ProposalKey,
        payer: String, authorizers: [String]
    ) {
        self.script = script
        self.arguments = arguments
        self.referenceBlockId = referenceBlockId
        self.gasLimit = gasLimit
        self.proposalKey = proposalKey
        self.payer = payer
        self.authorizers = authorizers
    }
}

/// A payload with all signatures: of proposer and authorizers over the payload, of the payer over the
/// envelope.
public struct FlowTransaction: Equatable, Sendable {
    public var payload: TransactionPayload
    public var payloadSignatures: [TransactionSignature]
    public var envelopeSignatures: [TransactionSignature]

    public init(
        payload: TransactionPayload, payloadSignatures: [TransactionSignature],
        envelopeSignatures: [TransactionSignature]
    ) {
        self.payload = payload
        self.payloadSignatures = payloadSignatures
        self.envelopeSignatures = envelopeSignatures
    }
}

private let transactionTag = domainTag("FLOW-V0.0-transaction")

/// Returns the bytes that proposer and authorizers sign: domain tag and RLP of the payload.
public func payloadMessage(_ payload: TransactionPayload) throws -> Bytes {
    try transactionTag + encodeRlp(item(payload))
}

/// Returns the bytes that the payer signs: domain tag and RLP of payload and payload signatures.
public func envelopeMessage(_ payload: TransactionPayload, _ signatures: [TransactionSignature]) throws -> Bytes {
    try transactionTag + encodeRlp(.list([item(payload), item(signatures, of: payload)]))
}

/// Returns the transaction's id, 64 hex digits: SHA3-256 of payload and both lists of signatures.
public func transactionId(_ transaction: FlowTransaction) throws -> String {
    let payload = transaction.payload
    let lists = try [transaction.payloadSignatures, transaction.envelopeSignatures].map { try item($0, of: payload) }
    return try sha3(encodeRlp(.list([item(payload)] + lists))).hex
}

/// Orders of the curves' groups: P-256 and secp256k1.
private let orders = [
    "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551",
    "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141",
]

/// Returns the ids that a transaction has when somebody without any key turns its payer's signature (r, s)
/// into (r, n − s), which the chain accepts too.
func twinIds(_ transaction: FlowTransaction) throws -> [String] {
    try orders.compactMap { order in
        var twin = transaction
        for (index, entry) in transaction.envelopeSignatures.enumerated() {
            let (r, s) = (String(entry.signature.prefix(64)), String(entry.signature.dropFirst(64)))
            guard let other = try difference(Bytes(hex: order), Bytes(hex: s)) else { return nil }
            twin.envelopeSignatures[index].signature = r + other.hex
        }
        return try transactionId(twin)
    }
}

/// Returns a − b of two big-endian numbers of the same length; nil where b is the greater one.
private func difference(_ a: Bytes, _ b: Bytes) -> Bytes? {
    var borrow = 0
    let digits: Bytes = zip(a, b).reversed().map { x, y in
        let digit = Int(x) - Int(y) - borrow
        borrow = digit < 0 ? 1 : 0
        return UInt8(truncatingIfNeeded: digit)
    }
    return borrow == 0 ? Bytes(digits.reversed()) : nil
}

private func item(_ payload: TransactionPayload) throws -> RlpItem {
    try .list([
        .text(payload.script),
        .list(payload.arguments.map { .text($0) }),
        .bytes(Bytes(hex: payload.referenceBlockId)),
        .number(payload.gasLimit),
        .bytes(Bytes(hex: payload.proposalKey.address)),
        .number(UInt64(payload.proposalKey.keyId)),
        .number(payload.proposalKey.sequenceNumber),
        .bytes(Bytes(hex: payload.payer)),
        .list(payload.authorizers.map { try .bytes(Bytes(hex: $0)) }),
    ])
}

/// Returns signatures in the order of the signers: proposer, payer, authorizers, each once.
private func item(_ signatures: [TransactionSignature], of payload: TransactionPayload) throws -> RlpItem {
    var signers: [String] = []
    for address in [payload.proposalKey.address, payload.payer] + payload.authorizers where !signers.contains(address) {
        signers.append(address)
    }
    let indexed = try signatures.map { signature in
        guard let index = signers.firstIndex(of: signature.address) else {
            throw FormatError("\(signature.address) is no signer of this transaction")
        }
        return (index, signature)
    }
    let sorted = indexed.sorted { ($0.0, $0.1.keyId) < ($1.0, $1.1.keyId) }
    return try .list(
        sorted.map { index, entry in
            let plain: [RlpItem] = try [
                .number(UInt64(index)), .number(UInt64(entry.keyId)), .bytes(Bytes(hex: entry.signature)),
            ]
            return try .list(plain + (entry.extensionData.map { [.bytes(try Bytes(hex: $0))] } ?? []))
        })
}

private let maxMessageBytes = 256 * 1024

/// Decodes the message of a payload: domain tag, then canonical RLP, and nothing after it. A device signs no
/// envelope that it did not build. Throws FormatError for everything else.
public func decodePayload(_ message: Bytes) throws -> TransactionPayload {
    guard message.count <= maxMessageBytes else { throw FormatError("the message is too large") }
    guard message.starts(with: transactionTag) else { throw FormatError("not the domain tag of a transaction") }
    let fields = try list(decodeRlp(Bytes(message.dropFirst(transactionTag.count))), "the message")
    guard fields.count == 9 else { throw FormatError("a payload has nine fields") }
    let authorizers = try list(fields[8], "authorizers").map { try fixed($0, 8, "an authorizer") }
    guard Set(authorizers).count == authorizers.count else { throw FormatError("an authorizer is named twice") }
    guard let keyId = UInt32(exactly: try integer(fields[5], "the proposal key")) else {
        throw FormatError("the proposal key is too large")
    }
    return try TransactionPayload(
        script: text(fields[0], "the script"),
        arguments: list(fields[1], "arguments").map(json),
        referenceBlockId: fixed(fields[2], 32, "the reference block"),
        gasLimit: integer(fields[3], "the gas limit"),
        proposalKey: ProposalKey(
            address: fixed(fields[4], 8, "the proposer"), keyId: keyId,
            sequenceNumber: integer(fields[6], "the sequence number")),
        payer: fixed(fields[7], 8, "the payer"),
        authorizers: authorizers)
}

private func bytes(_ item: RlpItem, _ name: String) throws -> Bytes {
    guard case let .bytes(bytes) = item else { throw FormatError("\(name) is a list") }
    return bytes
}

private func list(_ item: RlpItem, _ name: String) throws -> [RlpItem] {
    guard case let .list(items) = item else { throw FormatError("\(name) is no list") }
    return items
}

private func fixed(_ item: RlpItem, _ length: Int, _ name: String) throws -> String {
    let bytes = try bytes(item, name)
    guard bytes.count == length else { throw FormatError("\(name) has not \(length) bytes") }
    return bytes.hex
}

private func integer(_ item: RlpItem, _ name: String) throws -> UInt64 {
    let bytes = try bytes(item, name)
    guard bytes.count <= 8 else { throw FormatError("\(name) is too large") }
    guard bytes.first != 0 else { throw FormatError("\(name) has leading zeros") }
    return bytes.reduce(0) { $0 << 8 | UInt64($1) }
}

private func text(_ item: RlpItem, _ name: String) throws -> String {
    guard let text = try bytes(item, name).utf8Text else { throw FormatError("\(name) is not UTF-8") }
    return text
}

private func json(_ item: RlpItem) throws -> String {
    let text = try text(item, "an argument")
    do {
        _ = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
    } catch {
        throw FormatError("an argument is not JSON")
    }
    return text
}

import CountersignAPI
import Foundation
import XCTest

@testable import Countersign

#if canImport(CryptoKit)
import CryptoKit
#else
import CLibcrypto
#endif

private typealias Json = [String: Any]

/// Compares this client with clients/vectors.json, which TypeScript has made.
final class VectorsTests: XCTestCase {
    nonisolated(unsafe) private static let vectors: Json = {
        let file = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../../vectors.json").standardized
        let path = ProcessInfo.processInfo.environment["VECTORS"] ?? file.path
        return try! JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: path))) as! Json
    }()

    private func each(_ name: String) -> [Json] { Self.vectors[name] as! [Json] }

    private func text(_ vector: Json, _ name: String) -> String { vector[name] as! String }

    private func bytes(_ vector: Json, _ name: String) throws -> Bytes { try Bytes(hex: text(vector, name)) }

    private func key(_ value: Any?) throws -> PublicKey {
        let key = value as! Json
        return try PublicKey(algorithm: text(key, "algorithm"), publicKey: text(key, "publicKey"))
    }

    private func refused(_ list: String, _ work: (Json) throws -> Void) {
        XCTAssertFalse(each(list).isEmpty)
        for vector in each(list) { XCTAssertThrowsError(try work(vector), "\(vector)") }
    }

    func testKeysAndTheirFingerprints() throws {
        for vector in each("keys") { XCTAssertEqual(try keyFingerprint(key(vector)), text(vector, "fingerprint")) }
        refused("refusedKeys") { _ = try key($0) }
    }

    func testTextsThatAnAppHasAttested() throws {
        for vector in each("attestations") {
            let made = try attestationText(
                operation: text(vector, "operation"), chainName: text(vector, "chainName"),
                loginToken: text(vector, "loginToken"),
                accountKey: key(vector["accountKey"]), deviceKey: key(vector["deviceKey"]))
            XCTAssertEqual(made, text(vector, "text"))
            XCTAssertEqual(Platform.sha256(Bytes(made.utf8)).hex, text(vector, "hash"))
        }
    }

    func testMessagesOfProblemsWithTheFieldsThatAreNotValid() {
        for vector in each("problems") {
            let problem = ProblemError(status: vector["status"] as! Int, body: Data(text(vector, "body").utf8))
            XCTAssertEqual(problem.description, text(vector, "message"))
        }
    }

    func testSignaturesOverEachMessageThatADeviceSigns() async throws {
        let own = each("signatures").filter { text($0, "algorithm") == "ES256" }
        XCTAssertEqual(Set(own.map { text($0, "purpose") }).count, 7)
        for vector in own {
            let message = try bytes(vector, "message")
            let (key, signature) = try (bytes(vector, "publicKey"), bytes(vector, "signature"))
            XCTAssertTrue(verifies(key, message, signature), text(vector, "purpose"))
            XCTAssertFalse(verifies(key, message + [0], signature))
        }
        let key = try SoftwareKey()
        let signature = try await key.sign([1, 2, 3])
        XCTAssertTrue(verifies(try Bytes(hex: key.publicKey.publicKey), [1, 2, 3], signature))
    }

    func testSignaturesInDer() throws {
        for vector in each("der") { XCTAssertEqual(try signatureFromDer(bytes(vector, "der")).hex, text(vector, "raw")) }
        refused("refusedDer") { _ = try signatureFromDer(bytes($0, "der")) }
    }

    func testRlp() throws {
        for vector in each("rlp") {
            let item = try rlp(vector["item"]!)
            XCTAssertEqual(encodeRlp(item).hex, text(vector, "bytes"))
            XCTAssertEqual(try decodeRlp(bytes(vector, "bytes")), item)
        }
        refused("refusedRlp") { _ = try decodeRlp(bytes($0, "bytes")) }
    }

    func testSha3AtLengthsAroundABlock() {
        for vector in each("sha3") {
            let bytes = (0..<(vector["length"] as! Int)).map { UInt8(truncatingIfNeeded: $0 * 7) }
            XCTAssertEqual(sha3(bytes).hex, text(vector, "digest"))
        }
    }

    private func rlp(_ value: Any) throws -> RlpItem {
        if let items = value as? [Any] { return try .list(items.map(rlp)) }
        return try .bytes(Bytes(hex: value as! String))
    }

    func testArgumentsInJsonCadence() {
        for vector in each("cadence") {
            XCTAssertTrue(sameBytes(cadence(vector["value"] as! Json).encoded, text(vector, "json")), "\(vector)")
        }
    }

    private func cadence(_ value: Json) -> CadenceValue {
        switch text(value, "type") {
        case "String": return .string(text(value, "value"))
        case "Bool": return .bool(value["value"] as! Bool)
        case "Address": return .address(text(value, "value"))
        case "Array": return .array((value["value"] as! [Json]).map(cadence))
        default: return .number(text(value, "type"), text(value, "value"))
        }
    }

    func testTransactionsTheirMessagesAndIds() throws {
        for vector in each("transactions") {
            let name = text(vector, "name")
            let transaction = transaction(vector["transaction"] as! Json)
            XCTAssertEqual(try payloadMessage(transaction.payload).hex, text(vector, "payloadMessage"), name)
            let envelope = try envelopeMessage(transaction.payload, transaction.payloadSignatures)
            XCTAssertEqual(envelope.hex, text(vector, "envelopeMessage"), name)
            XCTAssertEqual(try transactionId(transaction), text(vector, "id"), name)
            XCTAssertEqual(try twinIds(transaction), vector["twinIds"] as! [String], name)
            XCTAssertEqual(try decodePayload(bytes(vector, "payloadMessage")), transaction.payload, name)
            XCTAssertThrowsError(try decodePayload(envelope))
        }
        refused("refusedMessages") { _ = try decodePayload(bytes($0, "message")) }
    }

    private func proposal(_ value: Json) -> ProposalKey {
        let keyId = UInt32((value["keyId"] as! NSNumber).int64Value)
        return ProposalKey(
            address: text(value, "address"), keyId: keyId, sequenceNumber: UInt64(text(value, "sequenceNumber"))!)
    }

    private func transaction(_ value: Json) -> FlowTransaction {
        let lists = ["payloadSignatures", "envelopeSignatures"].map { name in
            (value[name] as! [Json]).map {
                TransactionSignature(
                    address: text($0, "address"), keyId: UInt32(($0["keyId"] as! NSNumber).int64Value),
                    signature: text($0, "signature"), extensionData: $0["extensionData"] as? String)
            }
        }
        let payload = TransactionPayload(
            script: text(value, "script"), arguments: value["arguments"] as! [String],
            referenceBlockId: text(value, "referenceBlockId"), gasLimit: UInt64(text(value, "gasLimit"))!,
            proposalKey: proposal(value["proposalKey"] as! Json), payer: text(value, "payer"),
            authorizers: value["authorizers"] as! [String])
        return FlowTransaction(payload: payload, payloadSignatures: lists[0], envelopeSignatures: lists[1])
    }

    func testTemplatesToTheByte() throws {
        XCTAssertEqual(each("templates").count, Templates.scripts.count)
        for vector in each("templates") {
            XCTAssertTrue(sameBytes(Templates.scripts[text(vector, "name")] ?? "", text(vector, "script")))
        }
        for vector in each("keyChanges") {
            let change = vector["change"] as! Json
            let arguments = try ["serverKey", "oldKey", "newKey", "newServerKey"].flatMap { name -> [String] in
                guard let value = change[name] else { return [] }
                if let plain = value as? String { return [CadenceValue.string(plain).encoded] }
                return try addUserKeyArguments(key(value))
            }
            XCTAssertEqual(arguments, vector["arguments"] as! [String], text(change, "template"))
        }
    }

    func testTheAdditionOfAKeyAndNothingElse() throws {
        for vector in each("keyAdditions") {
            let expected = vector["addition"] as! Json
            let addition = try readKeyAddition(text(vector, "message"))
            XCTAssertEqual(addition.address, text(expected, "address"))
            XCTAssertEqual(addition.key, try key(expected))
            XCTAssertEqual(addition.payer, text(expected, "payer"))
            XCTAssertEqual(addition.proposalKey, proposal(expected["proposalKey"] as! Json))
        }
        for vector in each("refusedAdditions") {
            XCTAssertThrowsError(try readKeyAddition(text(vector, "message")), text(vector, "why")) {
                XCTAssertTrue($0 is EnrollmentError, "\($0)")
            }
        }
    }

    func testMatchingCodes() throws {
        for vector in each("matchingCodes") {
            let keys = vector["keys"] as! Json
            let (account, device) = (try key(keys["accountKey"]), try key(keys["deviceKey"]))
            let matches = isMatchingCode(text(vector, "typed"), accountKey: account, deviceKey: device)
            XCTAssertEqual(matches, vector["matches"] as! Bool, "\(vector)")
            let codes = (0..<100).map { _ in matchingCode(accountKey: account, deviceKey: device) }
            for code in codes { XCTAssertTrue(isMatchingCode(code, accountKey: account, deviceKey: device), code) }
            XCTAssertGreaterThan(Set(codes.map { $0.prefix(4) }).count, 90)
        }
    }

    func testDescriptionsOfEnrollments() throws {
        for vector in each("enrollments") {
            let names = vector["names"] as! Json
            let shown = ShownEnrollment(
                id: "", accountId: "", message: text(vector, "message"),
                device: try key(vector["device"]), appName: text(names, "appName"), name: text(names, "name"),
                model: "\(text(names, "deviceManufacturer")) \(text(names, "deviceModel"))",
                system: "\(text(names, "osName")) \(text(names, "osVersion"))", email: text(names, "email"),
                ip: text(names, "ip"), location: text(names, "location"))
            XCTAssertEqual(try shown.description(), text(vector, "text"))
        }
    }

    func testChallengesRefreshProofsTextsAndAccountProofs() throws {
        let challenge = Self.vectors["challenge"] as! Json
        XCTAssertEqual(try challengeMessage(text(challenge, "challengeData")).hex, text(challenge, "signed"))
        for data in challenge["refused"] as! [String] { XCTAssertThrowsError(try challengeMessage(data), data) }
        let refresh = Self.vectors["refreshProof"] as! Json
        XCTAssertEqual(refreshProofMessage(text(refresh, "refreshToken")).hex, text(refresh, "message"))
        for vector in each("userMessages") {
            XCTAssertEqual(try userMessage(text(vector, "text")).hex, text(vector, "message"))
        }
        for given in Self.vectors["refusedUserMessages"] as! [String] { XCTAssertThrowsError(try userMessage(given), given) }
        func proofMessage(_ vector: Json) throws -> Bytes {
            let proof = vector["proof"] as! Json
            return try accountProofMessage(
                appIdentifier: text(proof, "appIdentifier"), address: text(proof, "address"), nonce: text(proof, "nonce"))
        }
        for vector in each("accountProofs") { XCTAssertEqual(try proofMessage(vector).hex, text(vector, "message")) }
        refused("refusedAccountProofs") { _ = try proofMessage($0) }
    }

    func testStreamsOfEvents() throws {
        for vector in each("streams") {
            var reader = EventReader()
            // One byte at a time: a character or a line end may be in two pieces.
            let read = try text(vector, "text").utf8.flatMap { try reader.read([$0]) }
            let expected = vector["events"] as! [Json]
            XCTAssertEqual(read.map(\.name), expected.map { text($0, "name") })
            XCTAssertEqual(read.map(\.id), expected.map { text($0, "id") })
            for (event, wanted) in zip(read, expected) {
                let data = try JSONSerialization.jsonObject(with: event.data) as! NSDictionary
                XCTAssertEqual(data, wanted["data"] as! NSDictionary)
            }
            XCTAssertEqual(reader.lastEventId, text(vector, "lastEventId"))
            // Nothing of a stream that broke off is in the next one.
            reader.begin()
            let next = try reader.read("id: 9\nevent: key.added\ndata: {}\n\n".utf8)
            XCTAssertEqual(next, [AccountEvent(id: "9", name: "key.added", data: Data("{}".utf8))])
        }
    }
}

/// Verifies a raw signature of a P-256 key over a message.
private func verifies(_ publicKey: Bytes, _ message: Bytes, _ signature: Bytes) -> Bool {
    #if canImport(CryptoKit)
    guard let key = try? P256.Signing.PublicKey(rawRepresentation: publicKey),
        let given = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
    else { return false }
    return key.isValidSignature(given, for: message)
    #else
    return cs_verify(publicKey, Platform.sha256(message), signature) == 1
    #endif
}

package countersign.client

import com.google.gson.JsonArray
import com.google.gson.JsonElement
import com.google.gson.JsonObject
import com.google.gson.JsonParser
import countersign.templates.Templates
import okio.Buffer
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import java.io.File
import java.math.BigInteger
import java.security.AlgorithmParameters
import java.security.KeyFactory
import java.security.MessageDigest
import java.security.Signature
import java.security.spec.ECGenParameterSpec
import java.security.spec.ECParameterSpec
import java.security.spec.ECPoint
import java.security.spec.ECPublicKeySpec

private val vectors = JsonParser.parseString(File("../../vectors.json").readText()) as JsonObject

private fun each(name: String): List<JsonObject> = vectors[name].asJsonArray.map { it.asJsonObject }

private fun JsonObject.text(name: String): String = this[name].asString

private fun JsonArray.texts(): List<String> = map { it.asString }

private fun refused(what: String, work: () -> Unit) {
    assertThrows(IllegalArgumentException::class.java, work, what)
}

/** Compares this client with clients/vectors.json, which TypeScript has made. */
class VectorsTest {
    @Test
    fun `keys, their fingerprints and the forms that are none`() {
        for (key in each("keys")) {
            canonicalKey(key.text("algorithm"), key.text("publicKey"))
            assertEquals(key.text("fingerprint"), keyFingerprint(key.text("publicKey")))
        }
        for (key in each("refusedKeys")) refused("$key") { canonicalKey(key.text("algorithm"), key.text("publicKey")) }
    }

    @Test
    fun `texts that an app has attested`() {
        for (vector in each("attestations")) {
            val (account, device) = listOf("accountKey", "deviceKey").map { key(vector[it]).publicKey }
            val (operation, chainName, loginToken) = listOf("operation", "chainName", "loginToken").map { vector.text(it) }
            val text = attestationText(operation, chainName, loginToken, account, device)
            assertEquals(vector.text("text"), text)
            val hash = MessageDigest.getInstance("SHA-256").digest(text.toByteArray())
            assertEquals(vector.text("hash"), hash.toHex())
        }
    }

    @Test
    fun `messages of problems, with the fields that are not valid`() {
        for (vector in each("problems")) {
            val document = JsonParser.parseString(vector.text("body")) as JsonObject
            assertEquals(vector.text("message"), ProblemException(vector["status"].asInt, document, null).message)
        }
    }

    @Test
    fun `signatures over each message that a device signs`() {
        val own = each("signatures").filter { it.text("algorithm") == "ES256" }
        assertEquals(7, own.map { it.text("purpose") }.distinct().size)
        for (vector in own) {
            val message = hexToBytes(vector.text("message"))
            assertTrue(verifies(vector.text("publicKey"), message, vector.text("signature")), vector.text("purpose"))
            assertFalse(verifies(vector.text("publicKey"), message + 0, vector.text("signature")))
        }
    }

    @Test
    fun `signatures in DER`() {
        for (vector in each("der")) assertEquals(vector.text("raw"), signatureFromDer(hexToBytes(vector.text("der"))).toHex())
        for (vector in each("refusedDer")) refused(vector.text("why")) { signatureFromDer(hexToBytes(vector.text("der"))) }
    }

    @Test
    fun `RLP in both directions, canonical only`() {
        for (vector in each("rlp")) {
            assertEquals(vector.text("bytes"), encodeRlp(item(vector["item"])).toHex())
            assertEquals(vector["item"], json(decodeRlp(hexToBytes(vector.text("bytes")))))
        }
        for (vector in each("refusedRlp")) refused(vector.text("why")) { decodeRlp(hexToBytes(vector.text("bytes"))) }
    }

    @Test
    fun `SHA3-256 is the JDK's at every length around a block`() {
        for (length in 0..300) {
            val bytes = ByteArray(length) { (it * 7).toByte() }
            assertEquals(MessageDigest.getInstance("SHA3-256").digest(bytes).toHex(), sha3(bytes).toHex())
        }
    }

    @Test
    fun `arguments in JSON-Cadence`() {
        for (vector in each("cadence")) assertEquals(vector.text("json"), cadence(vector["value"].asJsonObject).encode())
    }

    @Test
    fun `transactions, their messages and ids`() {
        for (vector in each("transactions")) {
            val transaction = transaction(vector["transaction"].asJsonObject)
            val name = vector.text("name")
            assertEquals(vector.text("payloadMessage"), payloadMessage(transaction.payload).toHex(), name)
            val envelope = envelopeMessage(transaction.payload, transaction.payloadSignatures)
            assertEquals(vector.text("envelopeMessage"), envelope.toHex(), name)
            assertEquals(vector.text("id"), transactionId(transaction), name)
            assertEquals(vector["twinIds"].asJsonArray.texts(), twinIds(transaction), name)
            assertEquals(transaction.payload, decodePayload(hexToBytes(vector.text("payloadMessage"))), name)
            refused("an envelope") { decodePayload(envelope) }
        }
        for (vector in each("refusedMessages")) {
            refused(vector.text("why")) { decodePayload(hexToBytes(vector.text("message"))) }
        }
    }

    @Test
    fun `templates, to the byte`() {
        assertEquals(each("templates").associate { it.text("name") to it.text("script") }, Templates.SCRIPTS)
        for (vector in each("keyChanges")) {
            val change = vector["change"].asJsonObject
            val arguments = listOf("serverKey", "oldKey", "newKey", "newServerKey").mapNotNull { change[it] }.flatMap {
                if (it.isJsonPrimitive) listOf(CadenceValue.string(it.asString).encode()) else addUserKeyArguments(key(it))
            }
            assertEquals(vector["arguments"].asJsonArray.texts(), arguments, change.text("template"))
        }
    }

    @Test
    fun `the addition of a key, and nothing else`() {
        for (vector in each("keyAdditions")) {
            val expected = vector["addition"].asJsonObject
            val addition = readKeyAddition(vector.text("message"))
            assertEquals(expected.text("address"), addition.address)
            assertEquals(key(expected), addition.key)
            assertEquals(expected.text("payer"), addition.payer)
            assertEquals(proposal(expected["proposalKey"].asJsonObject), addition.proposalKey)
        }
        for (vector in each("refusedAdditions")) {
            assertThrows(EnrollmentException::class.java, { readKeyAddition(vector.text("message")) }, vector.text("why"))
        }
    }

    @Test
    fun `matching codes`() {
        for (vector in each("matchingCodes")) {
            val (account, device) = listOf("accountKey", "deviceKey").map { key(vector["keys"].asJsonObject[it]) }
            assertEquals(vector["matches"].asBoolean, isMatchingCode(vector.text("typed"), account, device), "$vector")
            val codes = List(100) { matchingCode(account, device) }
            for (code in codes) assertTrue(isMatchingCode(code, account, device), code)
            assertTrue(codes.map { it.take(4) }.toSet().size > 90)
        }
    }

    @Test
    fun `descriptions of enrollments`() {
        for (vector in each("enrollments")) {
            val names = vector["names"].asJsonObject
            val shown = ShownEnrollment(
                id = "",
                accountId = "",
                message = vector.text("message"),
                device = key(vector["device"]),
                appName = names.text("appName"),
                name = names.text("name"),
                model = "${names.text("deviceManufacturer")} ${names.text("deviceModel")}",
                system = "${names.text("osName")} ${names.text("osVersion")}",
                email = names.text("email"),
                ip = names.text("ip"),
                location = names.text("location"),
            )
            assertEquals(vector.text("text"), shown.description)
        }
    }

    @Test
    fun `challenges, refresh proofs, texts and account proofs`() {
        val challenge = vectors["challenge"].asJsonObject
        assertEquals(challenge.text("signed"), challengeMessage(challenge.text("challengeData")).toHex())
        for (data in challenge["refused"].asJsonArray.texts()) refused(data) { challengeMessage(data) }
        val refresh = vectors["refreshProof"].asJsonObject
        assertEquals(refresh.text("message"), refreshProofMessage(refresh.text("refreshToken")).toHex())
        for (vector in each("userMessages")) assertEquals(vector.text("message"), userMessage(vector.text("text")).toHex())
        for (text in vectors["refusedUserMessages"].asJsonArray.texts()) refused(text) { userMessage(text) }
        fun proofMessage(vector: JsonObject) = with(vector["proof"].asJsonObject) {
            accountProofMessage(text("appIdentifier"), text("address"), text("nonce"))
        }
        for (vector in each("accountProofs")) assertEquals(vector.text("message"), proofMessage(vector).toHex())
        for (vector in each("refusedAccountProofs")) refused(vector.text("why")) { proofMessage(vector) }
    }

    @Test
    fun `streams of events`() {
        for (vector in each("streams")) {
            val read = mutableListOf<AccountEvent>()
            val reader = EventReader()
            reader.read(Buffer().writeUtf8(vector.text("text"))) { read += it }
            val expected = vector["events"].asJsonArray.map { it.asJsonObject }
            assertEquals(expected.map { AccountEvent(it.text("id"), it.text("name"), it["data"].asJsonObject) }, read)
            assertEquals(vector.text("lastEventId"), reader.lastEventId)
        }
    }
}

private fun key(value: JsonElement) = PublicKey(value.asJsonObject.text("algorithm"), value.asJsonObject.text("publicKey"))

private fun item(value: JsonElement): RlpItem =
    if (value.isJsonArray) rlp(value.asJsonArray.map(::item)) else rlp(hexToBytes(value.asString))

private fun json(item: RlpItem): JsonElement = when (item) {
    is RlpItem.Bytes -> com.google.gson.JsonPrimitive(item.bytes.toHex())
    is RlpItem.Items -> JsonArray().apply { item.items.forEach { add(json(it)) } }
}

private fun cadence(value: JsonObject): CadenceValue = when (val type = value.text("type")) {
    "String" -> CadenceValue.string(value.text("value"))
    "Bool" -> CadenceValue.bool(value["value"].asBoolean)
    "Address" -> CadenceValue.address(value.text("value"))
    "Array" -> CadenceValue.array(value["value"].asJsonArray.map { cadence(it.asJsonObject) })
    else -> CadenceValue.number(type, value.text("value"))
}

private fun proposal(value: JsonObject) =
    ProposalKey(value.text("address"), value["keyId"].asLong, value.text("sequenceNumber").toULong())

private fun transaction(value: JsonObject): FlowTransaction {
    val payload = TransactionPayload(
        script = value.text("script"),
        arguments = value["arguments"].asJsonArray.texts(),
        referenceBlockId = value.text("referenceBlockId"),
        gasLimit = value.text("gasLimit").toULong(),
        proposalKey = proposal(value["proposalKey"].asJsonObject),
        payer = value.text("payer"),
        authorizers = value["authorizers"].asJsonArray.texts(),
    )
    val (inner, outer) = listOf("payloadSignatures", "envelopeSignatures").map { name ->
        value[name].asJsonArray.map { it.asJsonObject }.map {
            TransactionSignature(it.text("address"), it["keyId"].asLong, it.text("signature"), it["extensionData"]?.asString)
        }
    }
    return FlowTransaction(payload, inner, outer)
}

/** Verifies a raw signature of a P-256 key over a message. */
private fun verifies(publicKey: String, message: ByteArray, signature: String): Boolean {
    val curve = AlgorithmParameters.getInstance("EC").apply { init(ECGenParameterSpec("secp256r1")) }
    val point = ECPoint(BigInteger(publicKey.take(64), 16), BigInteger(publicKey.drop(64), 16))
    val spec = ECPublicKeySpec(point, curve.getParameterSpec(ECParameterSpec::class.java))
    return Signature.getInstance("SHA256withECDSAinP1363Format").run {
        initVerify(KeyFactory.getInstance("EC").generatePublic(spec))
        update(message)
        verify(hexToBytes(signature))
    }
}

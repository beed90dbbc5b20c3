package countersign.client

import com.google.gson.JsonParseException
import com.google.gson.Strictness
import com.google.gson.stream.JsonReader
import com.google.gson.stream.JsonToken
import java.io.IOException
import java.math.BigInteger
import java.nio.charset.CharacterCodingException

/** The proposer's key, with the sequence number that the transaction consumes. `address`: 16 hex digits. */
data class ProposalKey(val address: String, val keyId: Long, val sequenceNumber: ULong)

/** A signature of one account key, raw r||s in hex; a passkey's has extension data (FLIP 264). */
data class TransactionSignature(
    val address: String,
    val keyId: Long,
    val signature: String,
    val extensionData: String? = null,
)

/**
 * The payload of a Flow transaction. Addresses are 16 hex digits; arguments are the exact texts that go on
 * chain.
 */
data class TransactionPayload(
    val script: String,
    val arguments: List<String>,
    val referenceBlockId: String,
    val gasLimit: ULong,
    val proposalKey: ProposalKey,
    val payer: String,
    val authorizers: List<String>,
)

/**
 * A payload with all signatures: of proposer and authorizers over the payload, of the payer over the
 * envelope.
 */
data class FlowTransaction(
    val payload: TransactionPayload,
    val payloadSignatures: List<TransactionSignature>,
    val envelopeSignatures: List<TransactionSignature>,
)

/** Thrown when the bytes are no message that a device may sign. */
class InvalidMessageException(message: String) : IllegalArgumentException(message)

private val TRANSACTION_TAG = domainTag("FLOW-V0.0-transaction")

/** Returns the bytes that proposer and authorizers sign: domain tag and RLP of the payload. */
fun payloadMessage(payload: TransactionPayload): ByteArray = TRANSACTION_TAG + encodeRlp(itemOf(payload))

/** Returns the bytes that the payer signs: domain tag and RLP of payload and payload signatures. */
fun envelopeMessage(payload: TransactionPayload, payloadSignatures: List<TransactionSignature>): ByteArray =
    TRANSACTION_TAG + encodeRlp(rlp(listOf(itemOf(payload), itemOf(payload, payloadSignatures))))

/** Returns the transaction's id, 64 hex digits: SHA3-256 of payload and both lists of signatures. */
fun transactionId(transaction: FlowTransaction): String {
    val (payload, payloadSignatures, envelopeSignatures) = transaction
    val lists = listOf(payloadSignatures, envelopeSignatures).map { itemOf(payload, it) }
    return sha3(encodeRlp(rlp(listOf(itemOf(payload)) + lists))).toHex()
}

/** Orders of the curves' groups: P-256 and secp256k1. */
private val ORDERS = listOf(
    "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551",
    "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141",
).map { BigInteger(it, 16) }

/**
 * Returns the ids that a transaction has when somebody without any key turns its payer's signature (r, s)
 * into (r, n − s), which the chain accepts too.
 */
internal fun twinIds(transaction: FlowTransaction): List<String> = ORDERS.mapNotNull { order ->
    val envelope = transaction.envelopeSignatures.mapNotNull {
        val other = order - BigInteger("0${it.signature.drop(64)}", 16)
        it.copy(signature = it.signature.take(64) + other.toString(16).padStart(64, '0')).takeIf { other.signum() > 0 }
    }
    transaction.copy(envelopeSignatures = envelope).takeIf { envelope.size == transaction.envelopeSignatures.size }
        ?.let(::transactionId)
}

private fun itemOf(payload: TransactionPayload): RlpItem = with(payload) {
    rlp(
        listOf(
            rlp(script),
            rlp(arguments.map { rlp(it) }),
            rlp(hexToBytes(referenceBlockId)),
            rlp(gasLimit),
            rlp(hexToBytes(proposalKey.address)),
            rlp(proposalKey.keyId.toULong()),
            rlp(proposalKey.sequenceNumber),
            rlp(hexToBytes(payer)),
            rlp(authorizers.map { rlp(hexToBytes(it)) }),
        ),
    )
}

/** Returns signatures in the order of the signers: proposer, payer, authorizers, each once. */
private fun itemOf(payload: TransactionPayload, signatures: List<TransactionSignature>): RlpItem {
    val signers = (listOf(payload.proposalKey.address, payload.payer) + payload.authorizers).distinct()
    val sorted = signatures.sortedWith(compareBy({ signers.indexOf(it.address) }, { it.keyId }))
    return rlp(
        sorted.map {
            val index = signers.indexOf(it.address)
            require(index >= 0) { "${it.address} is no signer of this transaction" }
            val extension = listOfNotNull(it.extensionData?.let { data -> rlp(hexToBytes(data)) })
            rlp(listOf(rlp(index.toULong()), rlp(it.keyId.toULong()), rlp(hexToBytes(it.signature))) + extension)
        },
    )
}

private const val MAX_MESSAGE_BYTES = 256 * 1024

/**
 * Decodes the message of a payload: domain tag, then canonical RLP, and nothing after it. A device signs no
 * envelope that it did not build. Throws InvalidMessageException for everything else.
 */
fun decodePayload(message: ByteArray): TransactionPayload {
    if (message.size > MAX_MESSAGE_BYTES) refuse("the message is too large")
    if (!message.startsWith(TRANSACTION_TAG)) refuse("not the domain tag of a transaction")
    val fields = try {
        list(decodeRlp(message.copyOfRange(TRANSACTION_TAG.size, message.size)), "the message")
    } catch (error: RlpException) {
        refuse("not canonical RLP: ${error.message}")
    }
    if (fields.size != 9) refuse("a payload has nine fields")
    val authorizers = list(fields[8], "authorizers").map { fixed(it, 8, "an authorizer") }
    if (authorizers.distinct().size != authorizers.size) refuse("an authorizer is named twice")
    val keyId = integer(fields[5], "the proposal key")
    if (keyId > 0xffff_ffffUL) refuse("the proposal key is too large")
    return TransactionPayload(
        script = text(fields[0], "the script"),
        arguments = list(fields[1], "arguments").map { json(it) },
        referenceBlockId = fixed(fields[2], 32, "the reference block"),
        gasLimit = integer(fields[3], "the gas limit"),
        proposalKey = ProposalKey(
            address = fixed(fields[4], 8, "the proposer"),
            keyId = keyId.toLong(),
            sequenceNumber = integer(fields[6], "the sequence number"),
        ),
        payer = fixed(fields[7], 8, "the payer"),
        authorizers = authorizers,
    )
}

private fun refuse(detail: String): Nothing = throw InvalidMessageException(detail)

private fun bytes(item: RlpItem, name: String): ByteArray = (item as? RlpItem.Bytes)?.bytes ?: refuse("$name is a list")

private fun list(item: RlpItem, name: String): List<RlpItem> = (item as? RlpItem.Items)?.items ?: refuse("$name is no list")

private fun fixed(item: RlpItem, length: Int, name: String): String {
    val bytes = bytes(item, name)
    if (bytes.size != length) refuse("$name has not $length bytes")
    return bytes.toHex()
}

private fun integer(item: RlpItem, name: String): ULong {
    val bytes = bytes(item, name)
    if (bytes.size > 8) refuse("$name is too large")
    if (bytes.firstOrNull() == 0.toByte()) refuse("$name has leading zeros")
    return bytes.fold(0UL) { value, byte -> (value shl 8) or byte.toUByte().toULong() }
}

private fun text(item: RlpItem, name: String): String = try {
    decodeUtf8(bytes(item, name))
} catch (_: CharacterCodingException) {
    refuse("$name is not UTF-8")
}

private fun json(item: RlpItem): String {
    val text = text(item, "an argument")
    try {
        val reader = JsonReader(text.reader()).apply { strictness = Strictness.STRICT }
        reader.skipValue()
        if (reader.peek() != JsonToken.END_DOCUMENT) refuse("an argument is more than one value of JSON")
    } catch (_: IOException) {
        refuse("an argument is not JSON")
    } catch (_: JsonParseException) {
        refuse("an argument is not JSON")
    }
    return text
}

package countersign.client

import com.google.gson.JsonArray
import com.google.gson.JsonElement
import com.google.gson.JsonObject
import com.google.gson.JsonParser
import countersign.api.models.Network
import countersign.api.models.SignRequest
import countersign.api.models.Signature
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.delay
import kotlinx.coroutines.sync.withLock
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeoutOrNull
import okhttp3.MediaType.Companion.toMediaType
import okhttp3.OkHttpClient
import okhttp3.Request
import okhttp3.RequestBody.Companion.toRequestBody
import java.io.IOException
import java.util.Base64
import java.util.concurrent.TimeUnit

/** The chain refused the transaction, or it ran out of time there. */
class TransactionFailedException(val id: String, message: String) : IOException("transaction $id failed: $message")

/** The access node refused a request or answered something else; `status` 0: there was no seal in time. */
class AccessNodeException(val status: Int, message: String) : IOException("the access node answered $status: $message")

private const val POLL_MS = 500L
private const val SEAL_MS = 60_000L

/** An answer of a load balancer, for example: the node may have what was submitted. */
private fun isLost(status: Int) = status == 429 || status >= 502

/**
 * Builds a transaction of the account, has it signed by device, server and paymaster, submits it and waits
 * for the seal. Those of one client are sent one after another. `onSigned` gets the id before anything is
 * submitted: keep it until the result is known, and ask `awaitSeal` for it after a crash. Throws
 * ProblemException where the service refuses to sign, TransactionFailedException where the chain refuses,
 * SessionEndedException where another person signed in before its turn.
 */
suspend fun CountersignClient.sendTransaction(
    network: Network,
    cadence: String,
    arguments: List<CadenceValue> = emptyList(),
    gasLimit: ULong = 1000UL,
    onSigned: suspend (id: String) -> Unit = {},
): String {
    val owner = claim(session.credentials, "sub")
    return sending.withLock {
        val node = AccessNode(network.accessNode)
        val account = me()
        // A transaction of one person is never sent in another's name.
        if (owner != null && account.id.toString() != owner) throw session.ended()
        val address = plain(account.addresses.first { it.chainName == network.chainName && it.chainType == "cadence" }.address)
        val (keyId, sequenceNumber) = node.key(address, deviceKey.publicKey)
        val payload = TransactionPayload(
            script = cadence,
            arguments = arguments.map { it.encode() },
            referenceBlockId = node.latestSealedBlock(),
            gasLimit = gasLimit,
            proposalKey = ProposalKey(address, keyId, sequenceNumber),
            payer = plain(network.paymaster),
            authorizers = listOf(address),
        )
        val transaction = sign(payload, network.chainName)
        val id = transactionId(transaction)
        onSigned(id)
        node.submit(transaction)
        try {
            node.awaitSeal(id)
            id
        } catch (error: TransactionFailedException) {
            // The payer's signature has another form, under which somebody else may have submitted the same
            // transaction. Then this one is refused for its number, or for a key that was revoked since, or
            // expires.
            val twin = node.executedTwin(transaction) ?: throw error
            node.awaitSeal(twin)
            twin
        }
    }
}

/** Flow's error 1007. Further on may be a text of the transaction's author, such as that of a panic. */
private fun isWrongSequenceNumber(message: String) = message.startsWith("[error code: 1007]", ignoreCase = true)

/**
 * Waits for the seal of a transaction whose id is known. Throws TransactionFailedException where the chain
 * refused.
 */
suspend fun awaitSeal(network: Network, id: String, timeoutMs: Long = SEAL_MS) =
    AccessNode(network.accessNode).awaitSeal(id, timeoutMs)

/**
 * Collects the three signatures: device and server over the payload, then the paymaster over the envelope.
 */
suspend fun CountersignClient.sign(payload: TransactionPayload, chainName: String): FlowTransaction {
    val message = payloadMessage(payload)
    val device = TransactionSignature(payload.proposalKey.address, payload.proposalKey.keyId, deviceKey.sign(message).toHex())
    val server = signatureOf(signing.signTransaction(SignRequest(message.toHex(), chainName)).signature)
    val signatures = listOf(device, server)
    val envelope = envelopeMessage(payload, signatures).toHex()
    val payer = signatureOf(signing.signPaymaster(SignRequest(envelope, chainName)).signature)
    return FlowTransaction(payload, signatures, listOf(payer))
}

private fun signatureOf(signature: Signature) =
    TransactionSignature(plain(signature.addr), signature.keyId.toLong(), signature.signature)

private fun plain(address: String): String = address.removePrefix("0x").lowercase()

/** The part of Flow's Access API (REST) that a device needs. */
private class AccessNode(private val baseUrl: String) {
    suspend fun latestSealedBlock(): String =
        get("/v1/blocks?height=sealed") { it.asJsonArray[0].asJsonObject["header"].asJsonObject["id"].asString }

    /** Returns the index and the next sequence number of a key that is on the account. */
    suspend fun key(address: String, publicKey: String): Pair<Long, ULong> {
        val keys = get("/v1/accounts/$address?expand=keys") { it.asJsonObject["keys"]?.asJsonArray ?: JsonArray() }
        val key = keys.map { it.asJsonObject }.firstOrNull {
            it["public_key"].asString.removePrefix("0x") == publicKey && it["revoked"]?.asBoolean != true
        } ?: error("this device's key is not on the account 0x$address")
        return key["index"].asString.toLong() to key["sequence_number"].asString.toULong()
    }

    /** Submits; the same bytes again where no answer comes, since they run once. */
    suspend fun submit(transaction: FlowTransaction) = inTime(SEAL_MS) {
        var isLost = false
        while (true) {
            try {
                call(Request.Builder().post(body(transaction).toString().toRequestBody(JSON)), "/v1/transactions")
                return@inTime
            } catch (error: AccessNodeException) {
                val isKnown = if (error.status == 409) true else isKnown(transactionId(transaction))
                // The node has it already, from the call whose answer was lost.
                if (isKnown == true) return@inTime
                // Once an answer was lost, a refusal, perhaps of another node, says nothing about it.
                isLost = isLost || isLost(error.status) || isKnown == null
                if (!isLost) throw error
            } catch (_: IOException) {
                isLost = true
            }
            delay(POLL_MS)
        }
    }

    /** Returns whether the node has a transaction; null where it does not say. */
    private suspend fun isKnown(id: String): Boolean? = try {
        get("/v1/transactions/$id") { it.asJsonObject }
        true
    } catch (error: IOException) {
        if ((error as? AccessNodeException)?.status == 404) false else null
    }

    suspend fun awaitSeal(id: String, timeoutMs: Long = SEAL_MS) = inTime(timeoutMs) {
        while (true) {
            val result = resultOf(id)
            val status = result?.get("status")?.asString
            val message = result?.get("error_message")?.asString.orEmpty()
            if (status == "Expired") throw TransactionFailedException(id, status)
            if (status == "Sealed" && (message.isNotEmpty() || result["status_code"].asInt != 0)) {
                throw TransactionFailedException(id, message)
            }
            if (status == "Sealed") return@inTime
            delay(POLL_MS)
        }
    }

    /**
     * Returns the id under which the chain has run this very transaction with the payer's signature in its
     * other form, if it has. Throws where the node does not answer.
     */
    suspend fun executedTwin(transaction: FlowTransaction): String? = twinIds(transaction).firstOrNull { id ->
        try {
            val (status, message) = get("/v1/transaction_results/$id") {
                it.asJsonObject["status"].asString to it.asJsonObject["error_message"]?.asString.orEmpty()
            }
            (status == "Executed" || status == "Sealed") && !isWrongSequenceNumber(message)
        } catch (error: AccessNodeException) {
            if (error.status != 404) throw error
            false
        }
    }

    /** An exception of `withTimeout` is a cancellation, which would end the caller's coroutine in silence. */
    private suspend fun inTime(timeoutMs: Long, work: suspend () -> Unit) {
        withTimeoutOrNull(timeoutMs) { work() } ?: throw AccessNodeException(0, "the transaction was not sealed in time")
    }

    /** Null while the node does not know the id, or does not answer. */
    private suspend fun resultOf(id: String): JsonObject? = try {
        get("/v1/transaction_results/$id") { it.asJsonObject }
    } catch (_: IOException) {
        null
    }

    private suspend fun <Answer> get(path: String, read: (JsonElement) -> Answer): Answer {
        val text = call(Request.Builder().get(), path)
        return runCatching { read(JsonParser.parseString(text)) }.getOrElse { throw AccessNodeException(200, text.take(500)) }
    }

    private suspend fun call(request: Request.Builder, path: String): String = withContext(Dispatchers.IO) {
        NODES.newCall(request.url(baseUrl.trimEnd('/') + path).build()).execute().use { response ->
            val text = response.body?.string().orEmpty()
            if (!response.isSuccessful) throw AccessNodeException(response.code, text.take(500))
            text
        }
    }

    private companion object {
        val JSON = "application/json".toMediaType()
        val NODES = OkHttpClient.Builder().callTimeout(10, TimeUnit.SECONDS).followRedirects(false).build()
    }
}

private fun base64(bytes: ByteArray): String = Base64.getEncoder().encodeToString(bytes)

/** Returns the transaction as the Access API takes it. */
private fun body(transaction: FlowTransaction): JsonObject = with(transaction.payload) {
    JsonObject().apply {
        addProperty("script", base64(script.toByteArray()))
        add("arguments", arrayOf(arguments) { com.google.gson.JsonPrimitive(base64(it.toByteArray())) })
        addProperty("reference_block_id", referenceBlockId)
        addProperty("gas_limit", gasLimit.toString())
        addProperty("payer", payer)
        add("proposal_key", JsonObject().apply {
            addProperty("address", proposalKey.address)
            addProperty("key_index", proposalKey.keyId.toString())
            addProperty("sequence_number", proposalKey.sequenceNumber.toString())
        })
        add("authorizers", arrayOf(authorizers) { com.google.gson.JsonPrimitive(it) })
        add("payload_signatures", arrayOf(transaction.payloadSignatures, ::body))
        add("envelope_signatures", arrayOf(transaction.envelopeSignatures, ::body))
    }
}

private fun body(signature: TransactionSignature): JsonObject = JsonObject().apply {
    addProperty("address", signature.address)
    addProperty("key_index", signature.keyId.toString())
    addProperty("signature", base64(hexToBytes(signature.signature)))
    signature.extensionData?.let { addProperty("extension_data", base64(hexToBytes(it))) }
}

private fun <T> arrayOf(values: List<T>, element: (T) -> JsonElement): JsonArray =
    JsonArray().apply { values.forEach { add(element(it)) } }

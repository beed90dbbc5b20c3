package countersign.client

import com.google.gson.JsonParser
import com.sun.net.httpserver.HttpExchange
import com.sun.net.httpserver.HttpServer
import countersign.api.models.Credentials
import countersign.api.models.Network
import countersign.api.models.NewDevice
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeoutOrNull
import okio.Buffer
import okio.Source
import okio.Timeout
import okio.buffer
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNotEquals
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Test
import java.io.IOException
import java.net.InetSocketAddress
import java.security.GeneralSecurityException
import java.util.Base64
import java.util.concurrent.CopyOnWriteArrayList

/** Exchanges any refresh token for the next one, and notes it. */
private class FakeService {
    val refreshed = mutableListOf<String>()
    val tokensOfRequests = mutableListOf<String?>()
    var onSignOut = {}
    private var connections = 0
    private val server = HttpServer.create(InetSocketAddress("127.0.0.1", 0), 0).apply {
        createContext("/auth/v1/token/refresh") { exchange ->
            val body = JsonParser.parseString(exchange.requestBody.reader().readText()).asJsonObject
            refreshed += body["refreshToken"].asString
            val number = refreshed.size + 1
            val answer = """{"credentials":{"accessToken":"access-$number","refreshToken":"refresh-$number"}}""".toByteArray()
            exchange.responseHeaders.add("Content-Type", "application/json")
            exchange.sendResponseHeaders(200, answer.size.toLong())
            exchange.responseBody.use { it.write(answer) }
        }
        createContext("/auth/v1/signin/2fa") { exchange ->
            tokensOfRequests += exchange.requestHeaders.getFirst("Authorization")
            exchange.sendResponseHeaders(429, -1)
        }
        createContext("/auth/v1/signout") { exchange ->
            onSignOut()
            exchange.sendResponseHeaders(204, -1)
        }
        createContext("/device/v1/events") { exchange ->
            connections += 1
            val event = if (connections < 12) "" else "event: key.added\ndata: {}\n\n"
            val answer = "retry: 20\n\n$event".toByteArray()
            exchange.sendResponseHeaders(200, answer.size.toLong())
            exchange.responseBody.use { it.write(answer) }
        }
        createContext("/v1/transaction_results/") { exchange -> exchange.sendResponseHeaders(404, -1) }
        for (path in listOf("/v1/transaction_results/page", "/account/v1/me")) createContext(path) { exchange ->
            val page = "<html>Down for maintenance</html>".toByteArray()
            exchange.responseHeaders.add("Content-Type", "text/html; charset=utf-8")
            exchange.sendResponseHeaders(200, page.size.toLong())
            exchange.responseBody.use { it.write(page) }
        }
        start()
    }
    val url = "http://127.0.0.1:${server.address.port}"

    fun close() = server.stop(0)
}

/** Notes the threads on which it saves. */
private class NotingStore : CredentialStore {
    val threads = mutableListOf<Thread>()

    override fun load() = Credentials("access-1", "refresh-1")

    override fun save(credentials: Credentials?) {
        threads += Thread.currentThread()
    }
}

/** A store that fails to save as long as it is full. */
private class FullStore(var kept: Credentials?) : CredentialStore {
    var isFull = true

    override fun load(): Credentials? = kept

    override fun save(credentials: Credentials?) {
        check(!isFull) { "the storage is full" }
        kept = credentials
    }
}

class SessionTest {
    @Test
    fun `a store that fails to save brings no refresh token back that is used`() = runBlocking {
        val service = FakeService()
        val store = FullStore(Credentials("access-1", "refresh-1"))
        val client = CountersignClient(service.url, MemoryKeyStore().create(), store)
        assertThrows(IllegalStateException::class.java) { runBlocking { client.refresh() } }
        store.isFull = false
        client.refresh()
        service.close()
        assertEquals(listOf("refresh-1", "refresh-2"), service.refreshed)
        assertEquals("refresh-3", store.kept?.refreshToken)
    }

    @Test
    fun `a request in recovery carries the token of the recovery session`() = runBlocking {
        val service = FakeService()
        val phone = CountersignClient(service.url, MemoryKeyStore().create())
        val recovery = CountersignClient(service.url, MemoryKeyStore().create(), NotingStore())
        for (client in listOf(null, recovery)) {
            val error = runCatching {
                phone.requestEnrollment(Login("id-token"), "flow-emulator", NewDevice(name = "Phone"), recovery = client)
            }.exceptionOrNull()
            assertEquals(429, (error as ProblemException).status)
        }
        service.close()
        assertEquals(listOf(null, "Bearer access-1"), service.tokensOfRequests)
    }

    @Test
    fun `a store that cannot be read fails the call, and no thread of OkHttp, which would end an Android app`() {
        val service = FakeService()
        val uncaught = CopyOnWriteArrayList<Throwable>()
        val handler = Thread.getDefaultUncaughtExceptionHandler()
        Thread.setDefaultUncaughtExceptionHandler { _, error -> uncaught += error }
        var isLocked = false
        val store = object : CredentialStore {
            override fun load() = if (isLocked) throw GeneralSecurityException("locked") else null

            override fun save(credentials: Credentials?) = Unit
        }
        val client = runBlocking { CountersignClient(service.url, MemoryKeyStore().create(), store) }
        isLocked = true
        val error = assertThrows(IOException::class.java) { runBlocking { client.account.listNetworks() } }
        service.close()
        Thread.setDefaultUncaughtExceptionHandler(handler)
        assertEquals(emptyList<Throwable>(), uncaught)
        assertEquals(1, generateSequence<Throwable>(error) { it.cause }.count { it is GeneralSecurityException })
    }

    @Test
    fun `a stored session of another key, as of the phone whose backup this one has, is none`() = runBlocking {
        val (own, other) = List(2) { MemoryKeyStore().create() }
        for (key in listOf(own, other)) {
            val claims = """{"account_key":{"alg":"ES256","key":"${key.publicKey}"}}""".toByteArray()
            val pair = Credentials("e30.${Base64.getUrlEncoder().encodeToString(claims)}.e30", "refresh-1")
            val store = MemoryCredentials().apply { save(pair) }
            val client = CountersignClient("http://gateway.test", own, store)
            assertEquals(pair.takeIf { key == own }, client.session.credentials)
            assertEquals(if (key == own) SessionState.SIGNED_IN else SessionState.SIGNED_OUT, client.session.state.value)
        }
    }

    @Test
    fun `a sign-out waits for store and refresh on a thread that is not the caller's`() = runBlocking {
        val service = FakeService()
        val store = NotingStore()
        CountersignClient(service.url, MemoryKeyStore().create(), store).signOut()
        service.close()
        assertEquals(1, store.threads.size)
        assertNotEquals(Thread.currentThread(), store.threads.single())
    }

    @Test
    fun `a sign-out takes no session with it that is opened meanwhile`() = runBlocking {
        val service = FakeService()
        var meanwhile: (() -> Unit)? = null
        val store = object : CredentialStore {
            @Volatile var kept: Credentials? = Credentials("access-1", "refresh-1")

            override fun load() = kept.also { meanwhile?.invoke() }

            override fun save(credentials: Credentials?) {
                kept = credentials
            }
        }
        val client = CountersignClient(service.url, MemoryKeyStore().create(), store)
        val next = Credentials("access-2", "refresh-2")
        val signIn = Thread { client.session.keep(next, SessionState.SIGNED_IN) }
        service.onSignOut = {
            meanwhile = {
                meanwhile = null
                signIn.start()
                signIn.join(500)
            }
        }
        client.signOut()
        signIn.join()
        service.close()
        assertEquals(next, store.kept)
    }

    @Test
    fun `a quiet stream is opened again without longer and longer waits`() = runBlocking {
        val service = FakeService()
        val client = CountersignClient(service.url, MemoryKeyStore().create(), NotingStore())
        val event = withTimeoutOrNull(10_000) { client.events().first() }
        service.close()
        assertEquals("key.added", event?.name)
    }

    @Test
    fun `a seal that does not come in time is an error, and no silent cancellation`() = runBlocking {
        val service = FakeService()
        val network = Network("flow-emulator", "cadence", 0, service.url, "0x01", "")
        for (id in listOf("00".repeat(32), "page")) {
            val error = runCatching { awaitSeal(network, id, timeoutMs = 50) }.exceptionOrNull()
            assertEquals(AccessNodeException::class, error!!::class)
        }
        service.close()
    }

    /** Sends a transaction by a gateway and an access node in one; `node` answers for transactions. */
    private suspend fun send(
        onSigned: suspend (id: String) -> Unit = {},
        credentials: CredentialStore = MemoryCredentials(),
        node: (HttpExchange) -> Pair<Int, String>,
    ): Result<String> {
        val key = MemoryKeyStore().create()
        val address = """"address":"0x01cf0e2f2f715450","profileImageUrl":"","domainName":"","chainName":"flow""""
        val signature = """{"signature":{"addr":"0x01","keyId":0,"signature":"${"aa".repeat(64)}"}}"""
        val answers = mapOf(
            "/account/v1/me" to """{"account":{"id":"019a0000-0000-7000-8000-000000000001","addresses":[
                {$address,"chainId":1,"chainType":"cadence"}],"parent":[],"createdAt":"2026-11-23T12:00:00.000Z"}}""",
            "/v1/blocks" to """[{"header":{"id":"${"ab".repeat(32)}"}}]""",
            "/v1/accounts/" to """{"keys":[{"index":"1","public_key":"0x${key.publicKey}","sequence_number":"7"}]}""",
            "/sign/v1/cadence/" to signature,
        )
        val server = HttpServer.create(InetSocketAddress("127.0.0.1", 0), 0)
        fun answer(path: String, work: (HttpExchange) -> Pair<Int, String>) = server.createContext(path) { exchange ->
            val (status, text) = work(exchange)
            exchange.responseHeaders.add("Content-Type", "application/json")
            exchange.sendResponseHeaders(status, if (text.isEmpty()) -1L else text.length.toLong())
            if (text.isNotEmpty()) exchange.responseBody.use { it.write(text.toByteArray()) }
        }
        for ((path, text) in answers) answer(path) { 200 to text }
        for (path in listOf("/v1/transactions", "/v1/transaction_results/")) answer(path, node)
        server.start()
        val url = "http://127.0.0.1:${server.address.port}"
        val network = Network("flow", "cadence", 1, url, "0x01", "")
        val id = runCatching {
            CountersignClient(url, key, credentials).sendTransaction(network, "transaction {}", onSigned = onSigned)
        }
        server.stop(0)
        return id
    }

    private fun result(errorMessage: String) =
        """{"status":"Sealed","status_code":${if (errorMessage.isEmpty()) 0 else 1},"error_message":"$errorMessage"}"""

    @Test
    fun `the same bytes are submitted again where the node may have them`() = runBlocking {
        // Whether the node has it: it has not, and it does not say. The last one is refused by another node.
        val cases = listOf(listOf(503) to 404, listOf(522) to 404, listOf(500) to 503, listOf(503, 400) to 404)
        for ((refusals, known) in cases) {
            val submitted = mutableListOf<String>()
            val id = send { exchange ->
                if (exchange.requestMethod == "POST") submitted += exchange.requestBody.reader().readText()
                when {
                    exchange.requestMethod == "POST" -> (refusals.getOrNull(submitted.size - 1) ?: 201) to ""
                    "results" in exchange.requestURI.path -> 200 to result("")
                    else -> known to ""
                }
            }
            assertEquals(64, id.getOrThrow().length)
            assertEquals(List(refusals.size + 1) { submitted.first() }, submitted)
        }
    }

    @Test
    fun `a transaction of one person is not sent in the name of another, who has signed in before its turn`() = runBlocking {
        val claims = Base64.getUrlEncoder().encodeToString("""{"sub":"another"}""".toByteArray())
        val store = MemoryCredentials().apply { save(Credentials("e30.$claims.e30", "refresh-1")) }
        var signed = ""
        val id = send({ signed = it }, store) { 404 to "" }
        assertEquals(SessionEndedException::class, id.exceptionOrNull()!!::class)
        assertEquals("", signed)
    }

    @Test
    fun `a node that says that it has the transaction is not asked for it`() = runBlocking {
        var asked = 0
        val id = send { exchange ->
            if (exchange.requestMethod == "POST") 409 to ""
            else if ("results" in exchange.requestURI.path) 200 to result("")
            else 503.also { asked += 1 } to ""
        }
        assertEquals(64, id.getOrThrow().length)
        assertEquals(0, asked)
    }

    @Test
    fun `a transaction that ran under the id of its payer's signature in the other form has not failed`() = runBlocking {
        val wrong = 200 to result("[Error Code: 1007] invalid: has sequence number 8, but given 7")
        var signed = ""
        suspend fun sendBeside(twin: Pair<Int, String>, own: Pair<Int, String> = wrong) = send({ signed = it }) { exchange ->
            if (exchange.requestMethod == "POST") 201 to "" else if (signed in exchange.requestURI.path) own else twin
        }
        val revoked = 200 to result("[Error Code: 1008] invalid payload signature")
        for (own in listOf(wrong, revoked, 200 to """{"status":"Expired","status_code":0}""")) {
            val id = sendBeside(200 to result(""), own).getOrThrow()
            assertEquals(64, id.length)
            assertNotEquals(signed, id)
        }
        for (twin in listOf(404 to "", wrong)) {
            assertEquals(TransactionFailedException::class, sendBeside(twin).exceptionOrNull()!!::class)
        }
        assertEquals(AccessNodeException::class, sendBeside(503 to "").exceptionOrNull()!!::class)
    }

    @Test
    fun `a page in the place of an answer is a problem`() = runBlocking {
        val service = FakeService()
        val client = CountersignClient(service.url, MemoryKeyStore().create(), NotingStore())
        val error = runCatching { client.me() }.exceptionOrNull()
        service.close()
        assertEquals("200 Unknown: ", (error as ProblemException).message)
    }

    @Test
    fun `a line of a stream that does not end is not read to its end`() {
        val endless = object : Source {
            var sent = 0L

            override fun read(sink: Buffer, byteCount: Long): Long {
                check(sent < 1 shl 23) { "all of it is kept" }
                sink.writeUtf8("x".repeat(8192))
                sent += 8192
                return 8192
            }

            override fun timeout() = Timeout.NONE

            override fun close() = Unit
        }
        EventReader().read(endless.buffer()) {}
    }
}

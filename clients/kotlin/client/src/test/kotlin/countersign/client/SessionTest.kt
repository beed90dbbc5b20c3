package countersign.client

import com.google.gson.JsonParser
import com.sun.net.httpserver.HttpServer
import countersign.api.models.Credentials
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Test
import java.net.InetSocketAddress

/** Exchanges any refresh token for the next one, and notes it. */
private class FakeService {
    val refreshed = mutableListOf<String>()
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
        start()
    }
    val url = "http://127.0.0.1:${server.address.port}"

    fun close() = server.stop(0)
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
}

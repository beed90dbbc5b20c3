import com.google.gson.JsonParser
import countersign.client.apis.AccountApi
import countersign.client.apis.AuthApi
import countersign.client.apis.DevicesApi
import countersign.client.infrastructure.ApiClient
import countersign.client.infrastructure.ClientError
import countersign.client.infrastructure.ClientException
import countersign.client.infrastructure.Serializer
import countersign.client.models.ChallengeRequest
import countersign.client.models.KeyChallengeRequest
import countersign.client.models.LoginMethod
import countersign.client.models.LoginOnChain
import countersign.client.models.NewDevice
import countersign.client.models.NewUserKey
import countersign.client.models.Problem
import countersign.client.models.SignUpRequest
import okhttp3.OkHttpClient
import java.time.Duration
import java.util.UUID
import kotlin.system.exitProcess

/** Uses the Kotlin client that openapi-generator has generated; clients.test.ts checks what it prints. */
fun main() {
    val (gateway, token, publicKey, chainName) =
        listOf("GATEWAY", "LOGIN_TOKEN", "PUBLIC_KEY", "CHAIN_NAME").map { System.getenv(it) }
    val http = OkHttpClient.Builder().readTimeout(Duration.ofSeconds(30)).build()
    val method = LoginMethod.id_token_channel
    val userKey = NewUserKey("device", publicKey, NewDevice(name = "Kotlin"))

    val auth = AuthApi(gateway, http)
    val signedIn = auth.signUp(SignUpRequest(method, token, chainName, userKey))
    val asked = KeyChallengeRequest(
        "deviceKey",
        LoginOnChain(method, token, chainName),
        publicKey,
    )
    val challenge = auth.issueChallenge(ChallengeRequest(asked))

    ApiClient.accessToken = signedIn.credentials.accessToken
    val story = mapOf(
        "challengeDigits" to challenge.challengeData.length,
        "now" to read(gateway, http, signedIn.account.id),
        "later" to read(System.getenv("LATER_GATEWAY"), http, signedIn.account.id),
    )
    println(Serializer.gson.toJson(story))
    exitProcess(0)
}

/** Reads with the session's token; what a newer gateway answers too. */
private fun read(gateway: String, http: OkHttpClient, accountId: UUID): Map<String, Any> {
    val me = AccountApi(gateway, http).getMe()
    val devices = DevicesApi(gateway, http)
    val refused = try {
        devices.getTwoFactor("019a0000-0000-7000-8000-000000000001")
        null
    } catch (error: ClientException) {
        error
    }
    val body = (refused!!.response as ClientError<*>).body as String
    val problem = Serializer.gson.fromJson(JsonParser.parseString(body), Problem::class.java)
    return mapOf(
        "sameAccount" to (me.account.id == accountId),
        "chainTypes" to me.account.addresses.map { it.chainType },
        "devices" to devices.listDevices().devices.map { listOf(it.publicKey, it.algorithm, it.type) },
        "keys" to devices.listKeys().propertyKeys.map { listOf(it.publicKey, it.type, it.userKey?.type) },
        "error" to problem.error,
        "status" to refused.statusCode,
    )
}

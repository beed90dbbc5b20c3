import com.google.gson.JsonParser
import countersign.client.apis.AccountApi
import countersign.client.apis.AuthApi
import countersign.client.apis.DevicesApi
import countersign.client.apis.EnrollmentApi
import countersign.client.infrastructure.ApiClient
import countersign.client.infrastructure.ClientError
import countersign.client.infrastructure.ClientException
import countersign.client.infrastructure.Serializer
import countersign.client.models.ChallengeRequest
import countersign.client.models.DeviceKeyChallengeRequest
import countersign.client.models.LoginMethod
import countersign.client.models.LoginOnChain
import countersign.client.models.NewDevice
import countersign.client.models.NewUserKey
import countersign.client.models.Problem
import countersign.client.models.SignUpRequest
import countersign.client.models.UserKeyType
import okhttp3.OkHttpClient
import java.time.Duration
import kotlin.system.exitProcess

/** Uses the Kotlin client that openapi-generator has generated; clients.test.ts checks what it prints. */
fun main() {
    val (gateway, token, publicKey, chainName) =
        listOf("GATEWAY", "LOGIN_TOKEN", "PUBLIC_KEY", "CHAIN_NAME").map { System.getenv(it) }
    val http = OkHttpClient.Builder().readTimeout(Duration.ofSeconds(30)).build()
    val method = LoginMethod.id_token_channel
    val userKey = NewUserKey(UserKeyType.device, publicKey, NewDevice(name = "Kotlin"))

    val auth = AuthApi(gateway, http)
    val signedIn = auth.signUp(SignUpRequest(method, token, chainName, userKey))
    val asked = DeviceKeyChallengeRequest(
        DeviceKeyChallengeRequest.ChallengeType.deviceKey,
        LoginOnChain(method, token, chainName),
        publicKey,
    )
    val challenge = auth.issueChallenge(ChallengeRequest(asked))

    ApiClient.accessToken = signedIn.credentials.accessToken
    val me = AccountApi(gateway, http).getMe()
    val devices = DevicesApi(gateway, http).listDevices()
    val refused = try {
        EnrollmentApi(gateway, http).getTwoFactor("019a0000-0000-7000-8000-000000000001")
        null
    } catch (error: ClientException) {
        error
    }
    val body = (refused!!.response as ClientError<*>).body as String
    val problem = Serializer.gson.fromJson(JsonParser.parseString(body), Problem::class.java)

    val story = mapOf(
        "sameAccount" to (me.account.id == signedIn.account.id),
        "addresses" to me.account.addresses.size,
        "devices" to devices.devices.map { it.publicKey },
        "challengeDigits" to challenge.challengeData.length,
        "error" to problem.error,
        "status" to refused.statusCode,
    )
    println(Serializer.gson.toJson(story))
    exitProcess(0)
}

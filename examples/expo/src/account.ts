import { CountersignClient, type Login, loadOrCreateKey, ProblemError, sendTransaction } from "@countersign/client";
import { hardwareKeyStore, secureCredentials } from "@countersign/react-native";
import * as biometrics from "@sbaiahmed1/react-native-biometrics";
import { AuthRequest, exchangeCodeAsync, fetchDiscoveryAsync } from "expo-auth-session";
import { getRandomBytes } from "expo-crypto";
import * as Notifications from "expo-notifications";
import * as SecureStore from "expo-secure-store";
import { Platform } from "react-native";
import { chainName, clientId, gateway, issuer, redirectUri } from "./config";

const STORE_GREETING = `
transaction(greeting: String) {
  prepare(account: auth(LoadValue, SaveValue) &Account) {
    account.storage.load<String>(from: /storage/greeting)
    account.storage.save(greeting, to: /storage/greeting)
  }
}`;

/** Returns the client of this phone: its key in secure hardware, its tokens in the Keychain or Keystore. */
export async function openClient(): Promise<CountersignClient> {
  const deviceKey = await loadOrCreateKey(hardwareKeyStore({ module: biometrics, promptTitle: "Sign" }));
  const store = secureCredentials(SecureStore);
  const client = new CountersignClient({ baseUrl: gateway, deviceKey, store, randomBytes: getRandomBytes });
  await client.session.ready;
  return client;
}

/** Has the person log in, in the system's browser; undefined where they closed it. */
async function logIn(nonce: string): Promise<Login | undefined> {
  const discovery = await fetchDiscoveryAsync(issuer);
  // The nonce binds the login to this phone's key.
  const scopes = ["openid", "email", "profile"];
  const request = new AuthRequest({ clientId, redirectUri, scopes, extraParams: { nonce } });
  const answer = await request.promptAsync(discovery);
  if (answer.type === "error") throw answer.error ?? new Error("the login failed");
  if (answer.type !== "success") return undefined;
  const code = { code: answer.params.code ?? "", extraParams: { code_verifier: request.codeVerifier ?? "" } };
  const { idToken } = await exchangeCodeAsync({ clientId, redirectUri, ...code }, discovery);
  if (idToken === undefined) throw new Error("the provider gave no ID token");
  return { method: "id_token_channel", token: idToken };
}

/** How opening the account went; `elsewhere`: the account has other devices, which must approve this one. */
export type Opened = "open" | "closed" | "elsewhere";

/** Signs in with this phone's key; the first time, signs up. */
export async function openAccount(client: CountersignClient): Promise<Opened> {
  const login = await logIn(client.loginNonce);
  if (login === undefined) return "closed";
  const device = { name: `My ${Platform.OS} phone`, type: "mobile", osName: Platform.OS } as const;
  try {
    await client.signUp({ login, chainName, device });
  } catch (error) {
    if (!(error instanceof ProblemError) || error.error !== "AccountExists") throw error;
    try {
      await client.signIn({ login, chainName });
    } catch (refusal) {
      if (refusal instanceof ProblemError && refusal.error === "PleaseRegisterKey") return "elsewhere";
      throw refusal;
    }
  }
  return "open";
}

/** Sends the push token: the phone is notified of requests. Does nothing where pushes are refused. */
export async function registerForPush(client: CountersignClient): Promise<void> {
  const { granted } = await Notifications.requestPermissionsAsync();
  if (!granted) return;
  const { data } = await Notifications.getDevicePushTokenAsync();
  await client.updateDevice({ pushToken: String(data) });
}

/** Stores a text on chain: phone and service sign, the service pays. Returns the transaction's id. */
export async function storeGreeting(
  client: CountersignClient,
  greeting: string,
  onStatus: (status: string) => void,
): Promise<string> {
  const network = (await client.networks()).find((each) => each.chainName === chainName);
  if (network === undefined) throw new Error(`the service has no chain ${chainName}`);
  const { id } = await sendTransaction(client, {
    network,
    cadence: STORE_GREETING,
    args: [{ type: "String", value: greeting }],
    onStatus: (step) => onStatus(step.status),
  });
  return id;
}

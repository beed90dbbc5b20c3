import {
  type BrowserPasskey,
  browserPasskey,
  type ClientNetwork,
  CountersignClient,
  createBrowserPasskey,
  sendTransaction,
} from "@countersign/client";
import { cadenceString } from "@countersign/flow";
import { goToLogin, type LoginConfig, returnedLogin } from "./login.ts";

/** What the server of this page tells it; see dev/src/web-wallet.ts. */
interface Config extends LoginConfig {
  gateway: string;
  network: ClientNetwork;
}

const STORE_GREETING = `transaction(greeting: String) {
    prepare(account: auth(LoadValue, SaveValue) &Account) {
        account.storage.load<String>(from: /storage/greeting)
        account.storage.save(greeting, to: /storage/greeting)
    }
}`;
const PASSKEY = "passkey";

const config: Config = await (await fetch("/config.json")).json();
const button = (id: string) => document.getElementById(id) as HTMLButtonElement;

/** A line of the story with the time that its step took; the buttons rest meanwhile. */
async function step<T>(title: string, work: () => Promise<T>, tell: (result: T) => string): Promise<T> {
  const line = document.createElement("li");
  line.textContent = `${title} …`;
  document.getElementById("story")?.append(line);
  const started = performance.now();
  try {
    const result = await work();
    line.textContent = `${title}: ${tell(result)} (${Math.round(performance.now() - started)} ms)`;
    return result;
  } catch (error) {
    line.className = "failed";
    line.textContent = `${title}: ${(error as Error).message}`;
    throw error;
  }
}

/** The passkey that this page made before. The browser keeps its private half; what belongs together is remembered here. */
function knownPasskey(): BrowserPasskey | undefined {
  const kept = localStorage.getItem(PASSKEY);
  return kept ? browserPasskey(JSON.parse(kept)) : undefined;
}

const clientOf = (deviceKey: BrowserPasskey) => new CountersignClient({ baseUrl: config.gateway, deviceKey });

async function signUp(): Promise<void> {
  const passkey = await createBrowserPasskey({
    rpId: location.hostname,
    rpName: "Countersign",
    userName: `wallet ${new Date().toLocaleString()}`,
  });
  const { publicKey, credentialId, rpId } = passkey;
  localStorage.setItem(PASSKEY, JSON.stringify({ publicKey, credentialId, rpId }));
  await goToLogin(config, clientOf(passkey).loginNonce, "sign-up");
}

async function signIn(): Promise<void> {
  const passkey = knownPasskey();
  if (passkey) await goToLogin(config, clientOf(passkey).loginNonce, "sign-in");
}

/** What the person came for before they were sent to log in. */
async function comeBack(): Promise<void> {
  const returned = await returnedLogin(config);
  const passkey = knownPasskey();
  if (!returned || !passkey) return;
  const client = clientOf(passkey);
  const { login, wanted } = returned;
  const { chainName } = config.network;
  const [title, work] =
    wanted === "sign-up"
      ? [
          "Signed up",
          () => client.signUp({ login, chainName, device: { name: "A browser", type: "browser", osName: "web" } }),
        ]
      : ["Signed in", () => client.signIn({ login, chainName })];
  await step(title, work, ({ account }) => account.addresses.map(({ address }) => address).join(" and "));
  button("store").onclick = () =>
    step(
      "Stored a greeting: signed by passkey, server and paymaster",
      () =>
        sendTransaction(client, {
          network: config.network,
          cadence: STORE_GREETING,
          args: [cadenceString(`hello at ${new Date().toISOString()}`)],
        }),
      ({ id }) => `sealed as ${id}`,
    );
  button("store").disabled = false;
}

button("sign-up").onclick = () => step("A new passkey", signUp, () => "made");
button("sign-in").onclick = () => step("Your passkey", signIn, () => "known");
button("sign-in").disabled = knownPasskey() === undefined;
await comeBack();

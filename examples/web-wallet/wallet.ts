import { type ClientNetwork, CountersignClient, type SignedIn, sendTransaction } from "@countersign/client";
import { cadenceString } from "@countersign/flow";
import { goToLogin, type LoginConfig, type LoginRequest, returnedFrom, returnedLogin } from "./login.ts";
import {
  accounts,
  deviceKeyOf,
  isLast,
  type KnownPasskey,
  keep,
  knownPasskey,
  loginBegins,
  passkeyForSignUp,
} from "./passkeys.ts";

/** The configuration that this page's server sends; see packages/local-stack/src/web-wallet.ts. */
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

const config: Config = await (await fetch("/config.json")).json();
const { chainName } = config.network;
const button = (id: string) => document.getElementById(id) as HTMLButtonElement;
const accountList = document.getElementById("account") as HTMLSelectElement;

const clientOf = (passkey: KnownPasskey) =>
  new CountersignClient({ baseUrl: config.gateway, deviceKey: deviceKeyOf(passkey) });

/** The client that is signed in, if one is. */
let client: CountersignClient | undefined;
let isBusy = false;

/** Enables the buttons that can be pressed: none while a step is under way. */
function refreshButtons(): void {
  const known = accounts();
  button("sign-up").disabled = isBusy;
  button("sign-in").disabled = isBusy || known.length === 0;
  button("store").disabled = isBusy || client === undefined;
  accountList.disabled = isBusy;
  accountList.hidden = known.length < 2;
}

function refreshAccounts(): void {
  const options = accounts().map(({ publicKey, address }) => new Option(address || "sign-up not confirmed", publicKey));
  accountList.replaceChildren(...options);
}

/** Adds a line for a step, with its result and the time that it took. The buttons rest meanwhile. */
async function step<T>(title: string, work: () => Promise<T>, show: (result: T) => string): Promise<T | undefined> {
  if (isBusy) return undefined;
  isBusy = true;
  refreshButtons();
  const line = document.createElement("li");
  line.textContent = `${title} …`;
  document.getElementById("story")?.append(line);
  const started = performance.now();
  try {
    const result = await work();
    line.textContent = `${title}: ${show(result)} (${Math.round(performance.now() - started)} ms)`;
    return result;
  } catch (error) {
    line.className = "failed";
    line.textContent = `${title}: ${(error as Error).message}`;
    return undefined;
  } finally {
    isBusy = false;
    refreshButtons();
  }
}

async function logIn(passkey: KnownPasskey, action: LoginRequest["action"]): Promise<void> {
  const { publicKey } = passkey;
  // At the provider somebody else may be logged in.
  const isOther = action === "sign-up" || !isLast(passkey);
  loginBegins(passkey);
  const nonce = clientOf(passkey).loginNonce;
  await goToLogin(config, { action, publicKey, nonce, ...(isOther && { prompt: "login" }) });
}

const signUp = async () => logIn(await passkeyForSignUp(), "sign-up");

async function signIn(): Promise<void> {
  const passkey = knownPasskey(accountList.value);
  if (!passkey) throw new Error("this page does not know the passkey");
  await logIn(passkey, "sign-in");
}

/** Finishes what the person came for before they were sent to log in. */
async function finishLogin(): Promise<SignedIn> {
  const { login, action, publicKey } = await returnedLogin(config);
  const passkey = knownPasskey(publicKey);
  if (!passkey) throw new Error("the login is for a passkey that this page does not know");
  const opening = clientOf(passkey);
  let signedIn: SignedIn;
  if (action === "sign-up") {
    keep({ ...passkey, state: "sent" });
    const device = { name: "A browser", type: "browser", osName: "web" } as const;
    signedIn = await opening.signUp({ login, chainName, device });
  } else {
    signedIn = await opening.signIn({ login, chainName });
  }
  keep({ ...passkey, state: "signed-up", address: addressesOf(signedIn)[0] ?? passkey.address });
  client = opening;
  refreshAccounts();
  return signedIn;
}

const addressesOf = ({ account }: SignedIn): string[] => account.addresses.map(({ address }) => address);

const storeGreeting = (by: CountersignClient) =>
  sendTransaction(by, {
    network: config.network,
    cadence: STORE_GREETING,
    args: [cadenceString(`hello at ${new Date().toISOString()}`)],
  });

button("sign-up").onclick = () => step("A new passkey", signUp, () => "made");
button("sign-in").onclick = () => step("Your passkey", signIn, () => "known");
button("store").onclick = () => {
  const by = client;
  const title = "Stored a greeting: signed by passkey, server and paymaster";
  if (by)
    void step(
      title,
      () => storeGreeting(by),
      ({ id }) => `sealed as ${id}`,
    );
};
refreshAccounts();
refreshButtons();
const returned = returnedFrom();
if (returned) {
  const title = returned.action === "sign-up" ? "Signed up" : "Signed in";
  await step(title, finishLogin, (signedIn) => addressesOf(signedIn).join(" and "));
}

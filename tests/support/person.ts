import type { Login } from "@countersign/client";
import { generateDeviceKey, type NodeDeviceKey } from "@countersign/client/node";
import { createAccessApi, payloadMessage } from "@countersign/flow";
import type { KeyAlgorithm } from "@countersign/keys";
import type { Stack } from "@countersign/local-stack/stack-file.ts";
import { ownStack } from "@countersign/local-stack/testing/own-stack.ts";
import * as people from "@countersign/testing";

export { newEmail, type Person, type Phone } from "@countersign/testing";

/** The running stack of this worker. */
export const stack: Stack = await ownStack();
export const chain = stack.chains[0]!;
export const application = stack.identityProvider.clients[0]!;
export const { chainName } = chain;
export const network = people.networkOf(stack);
export const access = createAccessApi({ baseUrl: chain.accessNode });

/** A transaction that does nothing. */
export const NOTHING = "transaction { prepare(a: &Account) {} }";
/** For what the services do within seconds. */
export const pollOptions = { timeout: 20_000, interval: 100 };

/** Logs in at the identity provider; returns the ID token. With `maxAge` null, it has no time of login. */
export const logIn = (email: string, options: { maxAge?: number | null } = {}) => people.logIn(stack, email, options);

/** Logs in at the identity provider; returns the authorization code. */
export async function logInForCode(email: string): Promise<Login> {
  const { code, codeVerifier, redirectUri } = await people.authorize(stack, email);
  return { method: "redirect_code_channel", token: code, codeVerifier, redirectUri };
}

/** Returns a phone with this key. */
export const phoneOf = (deviceKey: NodeDeviceKey): people.Phone => people.createPhone(stack, { deviceKey });
export const newPhone = (algorithm: KeyAlgorithm = "ES256"): people.Phone => phoneOf(generateDeviceKey(algorithm));

/** Returns the access token of a phone's session. */
export const tokenOf = ({ client }: Pick<people.Phone, "client">): string => client.credentials!.accessToken;

export const signUpPerson = (phone = newPhone()): Promise<people.Person> => people.signUpPerson(stack, phone);

/** Enrolls a second phone of a person, approved by the first. */
export const secondPhone = (of: Pick<people.Person, "email" | "client">): Promise<people.Phone> =>
  people.secondPhone(stack, of, newPhone());

/** Returns the payload of a transaction of the account's first device, which the paymaster pays for. */
export async function payloadOf({ address }: Pick<people.Person, "address">, script = NOTHING, authorizer = address) {
  const [block, key] = await Promise.all([access.latestSealedBlock(), access.accountKey(address, 1)]);
  return payloadMessage({
    script,
    arguments: [],
    referenceBlockId: block.id,
    gasLimit: 999n,
    proposalKey: { address, keyId: 1, sequenceNumber: key.sequenceNumber },
    payer: chain.paymaster.replace("0x", ""),
    authorizers: [authorizer],
  });
}

/** Returns the problem with which a call of the client was refused. */
export async function problemOf(work: Promise<unknown>): Promise<{ status: number; error: string; reason: string }> {
  try {
    await work;
  } catch (error) {
    const { status, error: code, reason } = error as { status: number; error: string; reason: string };
    if (typeof status !== "number") throw error;
    return { status, error: code, reason };
  }
  throw new Error("the call was not refused");
}

import { CountersignClient, type Passkey } from "@countersign/client";
import { passkeySignature } from "@countersign/flow";
import { challengeOf } from "@countersign/keys";
import { simulatedPasskey } from "@countersign/keys/testing";
import * as fcl from "@onflow/fcl";
import { beforeAll, expect, it } from "vitest";
import { chain, chainName, logIn, newEmail, signUpPerson, stack } from "../support/person.ts";
import { call } from "../support/raw-request.ts";

/** The message that fcl asks a signing function to sign. */
interface Signable {
  message: string;
}

/** The answer of a signing function; a passkey's has extension data (FLIP 264). */
interface Signature {
  signature: string;
  extensionData?: string;
}

beforeAll(() => fcl.config({ "accessNode.api": chain.accessNode, "flow.network": "emulator", "fcl.limit": 999 }));

const signer = (addr: string, keyId: number, sign: (message: string) => Promise<Signature>) => (account: object) => ({
  ...account,
  tempId: `${addr}-${keyId}`,
  addr,
  keyId,
  signingFunction: async ({ message }: Signable) => ({ addr: `0x${addr}`, keyId, ...(await sign(message)) }),
});

const remote = (client: CountersignClient, operation: string) => async (message: string) => {
  const token = client.credentials!.accessToken;
  const answer = await call("POST", `/sign/v1/cadence/${operation}`, { token, body: { message } });
  expect(answer.body).toMatchObject({ signature: { signature: expect.any(String) } });
  return { signature: answer.body.signature.signature as string };
};

/** Sends a transaction of the account at `address`, whose first user key signs by `sign`. */
async function sendWithFcl(client: CountersignClient, address: string, sign: (message: string) => Promise<Signature>) {
  const user = signer(address, 1, sign);
  const server = signer(address, 0, remote(client, "transaction"));
  const paymaster = signer(chain.paymaster.replace("0x", ""), 0, remote(client, "paymaster"));
  const id = await fcl.mutate({
    cadence:
      "transaction(text: String) { prepare(a: auth(SaveValue) &Account) { a.storage.save(text, to: /storage/fromFcl) } }",
    args: (arg: (value: string, type: unknown) => unknown, t: { String: unknown }) => [arg("written by fcl", t.String)],
    proposer: user,
    payer: paymaster,
    authorizations: [user, server],
    limit: 999,
  });
  return fcl.tx(id).onceSealed();
}

it("@onflow/fcl, with authorization functions that call the signing endpoints, gets a transaction sealed", async () => {
  const { client, address, deviceKey } = await signUpPerson();
  const sealed = await sendWithFcl(client, address, async (message) => ({
    signature: Buffer.from(await deviceKey.sign(Buffer.from(message, "hex"))).toString("hex"),
  }));
  expect(sealed).toMatchObject({ statusCode: 0, errorMessage: "" });
});

it("so it does with a passkey, whose extension data it passes on", async () => {
  const authenticator = simulatedPasskey();
  const passkey: Passkey = {
    publicKey: authenticator.publicKey.publicKey,
    algorithm: "ES256",
    assert: async (challenge) =>
      authenticator.assert(challenge, { rpId: "localhost", client: { origin: stack.gateway } }),
  };
  const client = new CountersignClient({ baseUrl: stack.gateway, deviceKey: passkey });
  const { account } = await client.signUp({ login: await logIn(newEmail()), chainName });
  const { address } = account.addresses.find(({ chainType }) => chainType === "cadence")!;
  const sealed = await sendWithFcl(client, address.slice(2), async (message) =>
    passkeySignature(await passkey.assert(challengeOf({ transaction: Buffer.from(message, "hex") }))),
  );
  expect(sealed).toMatchObject({ statusCode: 0, errorMessage: "" });
});

import { CountersignClient, type Passkey } from "@countersign/client";
import { fclWallet, USER_MESSAGE_TAG, useCountersign } from "@countersign/fcl";
import { verifySignature } from "@countersign/keys/node";
import { simulatedPasskey } from "@countersign/keys/testing";
import * as fcl from "@onflow/fcl";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { chain, chainName, logIn, newEmail, signUpPerson, stack } from "../support/person.ts";

const network = { chainName, accessNode: chain.accessNode, paymaster: chain.paymaster };
const CADENCE =
  "transaction(text: String) { prepare(a: auth(SaveValue) &Account) { a.storage.save(text, to: /storage/fromFcl) } }";
const transaction = {
  cadence: CADENCE,
  args: (arg: (value: string, type: unknown) => unknown, t: { String: unknown }) => [arg("written by fcl", t.String)],
  limit: 999,
};

beforeAll(async () => {
  await fcl.config({ "accessNode.api": chain.accessNode, "flow.network": "emulator", "fcl.limit": 999 });
  // FCL's current user asks a page for its name and origin.
  vi.stubGlobal("window", {
    location: { hostname: "localhost", origin: "http://localhost:5173" },
    addEventListener() {},
    removeEventListener() {},
    dispatchEvent: () => true,
  });
});
afterAll(() => void vi.unstubAllGlobals());

const passkeyOf = (authenticator: ReturnType<typeof simulatedPasskey>): Passkey => ({
  publicKey: authenticator.publicKey.publicKey,
  algorithm: "ES256",
  assert: async (challenge) =>
    authenticator.assert(challenge, { rpId: "localhost", client: { origin: stack.gateway } }),
});

it("the roles of a wallet get a transaction of @onflow/fcl sealed, after the person has confirmed it", async () => {
  const { client, address } = await signUpPerson();
  const confirm = vi.fn();
  const wallet = fclWallet({ client, network, confirm });
  const id = await fcl.mutate({ ...transaction, ...wallet.roles });
  expect(await fcl.tx(id).onceSealed()).toMatchObject({ statusCode: 0, errorMessage: "" });
  expect(confirm).toHaveBeenCalledTimes(1);
  expect(confirm.mock.calls[0]![0]).toMatchObject({
    script: CADENCE,
    paidBy: "paymaster",
    authorizers: [`0x${address}`],
    arguments: [{ name: "text", type: "String", value: "written by fcl" }],
  });
});

it("so does a passkey's wallet, whose extension data FCL passes on", async () => {
  const client = new CountersignClient({ baseUrl: stack.gateway, deviceKey: passkeyOf(simulatedPasskey()) });
  await client.signUp({ login: await logIn(newEmail()), chainName });
  const id = await fcl.mutate({ ...transaction, ...fclWallet({ client, network }).roles });
  expect(await fcl.tx(id).onceSealed()).toMatchObject({ statusCode: 0, errorMessage: "" });
});

it("a wallet signs no bytes that are no transaction, and nothing that the person refuses", async () => {
  const { client, deviceKey } = await signUpPerson();
  const sign = vi.spyOn(deviceKey, "sign");
  const device = await fclWallet({ client, network }).device();
  await expect(device.signingFunction({ message: "00".repeat(16) })).rejects.toThrow();
  await expect(device.signingFunction({ message: Buffer.from(USER_MESSAGE_TAG).toString("hex") })).rejects.toThrow();
  const refuses = fclWallet({ client, network, confirm: () => Promise.reject(new Error("the person said no")) });
  await expect(fcl.mutate({ ...transaction, ...refuses.roles })).rejects.toThrow("the person said no");
  expect(sign).not.toHaveBeenCalled();
});

it("after useCountersign, a dApp that knows only FCL signs in, proves the account, signs and sends", async () => {
  const { client, address, deviceKey } = await signUpPerson();
  const nonce = "75".repeat(32);
  const appIdentifier = "http://localhost:5173";
  await fcl.config({ "fcl.accountProof.resolver": async () => ({ nonce }) });
  const service = useCountersign(fcl, { client, network });
  const user = (await fcl.authenticate({ service })) as {
    addr: string;
    loggedIn: boolean;
    services: { type: string; data?: { signatures: { keyId: number; signature: string; addr: string }[] } }[];
  };
  expect(user).toMatchObject({ addr: `0x${address}`, loggedIn: true });

  const proof = user.services.find(({ type }) => type === "account-proof")!.data!.signatures;
  const proven = fcl.WalletUtils.encodeAccountProof({ address, nonce, appIdentifier });
  const signatureOf = ([signed]: { signature: string }[]) => Buffer.from(signed!.signature, "hex");
  expect(verifySignature(deviceKey, Buffer.from(proven, "hex"), signatureOf(proof))).toBe(true);

  const message = Buffer.from("I agree").toString("hex");
  const signatures = await fcl.currentUser.signUserMessage(message);
  expect(signatures).toMatchObject([{ addr: expect.stringContaining(address), keyId: 1 }]);
  const signed = Buffer.concat([USER_MESSAGE_TAG, Buffer.from("I agree")]);
  expect(verifySignature(deviceKey, signed, signatureOf(signatures))).toBe(true);

  const id = await fcl.mutate(transaction);
  expect(await fcl.tx(id).onceSealed()).toMatchObject({ statusCode: 0, errorMessage: "" });
  fcl.unauthenticate();
});

import { CountersignClient, type Passkey } from "@countersign/client";
import { type FclWalletOptions, fclWallet, useCountersign } from "@countersign/fcl";
import { USER_MESSAGE_TAG } from "@countersign/flow";
import { simulatedPasskey } from "@countersign/keys/testing";
import { FCL_CRYPTO_OPTION as contract } from "@countersign/local-stack/fcl-crypto.ts";
import * as fcl from "@onflow/fcl";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
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

/** The user of FCL, with the account proof that its sign-in has asked for. */
interface User {
  addr: string;
  loggedIn: boolean;
  services: { type: string; data?: { address: string; nonce: string; signatures: fcl.Signature[] } }[];
}
const nonce = "75".repeat(32);
const origin = "http://localhost:5173";
const hexOf = (text: string) => Buffer.from(text).toString("hex");

/** Signs in to FCL; returns the user and the account proof. */
async function signInToFcl({ client, confirm }: Pick<FclWalletOptions, "client" | "confirm">) {
  await fcl.config({ "fcl.accountProof.resolver": async () => ({ nonce }) });
  const user = (await fcl.authenticate({ service: useCountersign(fcl, { client, network, confirm }) })) as User;
  const proof = user.services?.find(({ type }) => type === "account-proof")?.data;
  return { user, proof: proof! };
}

describe("after useCountersign, a dApp that knows only FCL", () => {
  afterEach(() => fcl.unauthenticate());

  const isSigned = (text: string, signatures: fcl.Signature[]) =>
    fcl.AppUtils.verifyUserSignatures(hexOf(text), signatures, contract);
  const isProven = (app: string, proof: { address: string; nonce: string; signatures: fcl.Signature[] }) =>
    fcl.AppUtils.verifyAccountProof(app, proof, contract);

  it("signs in and sends", async () => {
    const { client, address } = await signUpPerson();
    const { user } = await signInToFcl({ client });
    expect(user).toMatchObject({ addr: `0x${address}`, loggedIn: true });
    const id = await fcl.mutate(transaction);
    expect(await fcl.tx(id).onceSealed()).toMatchObject({ statusCode: 0, errorMessage: "" });
  });

  it("proves the account, to this app and with this nonce only", async () => {
    const [{ client, address }, other] = await Promise.all([signUpPerson(), signUpPerson()]);
    const { proof } = await signInToFcl({ client });
    expect(proof.signatures.map(({ keyId }) => keyId)).toEqual([1, 0]);
    expect(await isProven(origin, { ...proof, address: `0x${address}` })).toBe(true);
    const [device] = proof.signatures;
    expect(await isProven(origin, { ...proof, signatures: [device!] })).toBe(false);
    expect(await isProven("https://dapp.example", proof)).toBe(false);
    expect(await isProven(origin, { ...proof, nonce: "76".repeat(32) })).toBe(false);
    const theirs = proof.signatures.map((each) => ({ ...each, addr: `0x${other.address}` }));
    expect(await isProven(origin, { ...proof, address: `0x${other.address}`, signatures: theirs })).toBe(false);
    // The tags differ: a proof is no user message.
    const encoded = fcl.WalletUtils.encodeAccountProof({ address, nonce, appIdentifier: origin });
    const content = encoded.slice(64);
    expect(await fcl.AppUtils.verifyUserSignatures(content, proof.signatures, contract)).toBe(false);
  });

  it("gets a text signed, by device and server, and no other text", async () => {
    const { client } = await signUpPerson();
    await signInToFcl({ client });
    const signatures = await fcl.currentUser.signUserMessage(hexOf("I agree"));
    expect(signatures.map(({ keyId }) => keyId)).toEqual([1, 0]);
    expect(await isSigned("I agree", signatures)).toBe(true);
    expect(await isSigned("I disagree", signatures)).toBe(false);
    const [device, server] = signatures;
    expect(await isSigned("I agree", [device!])).toBe(false);
    expect(await isSigned("I agree", [device!, device!])).toBe(false);
    expect(await isSigned("I agree", [device!, { ...server!, signature: device!.signature }])).toBe(false);
  });

  it("gets both of a passkey's user, by the server's signature", async () => {
    const client = new CountersignClient({ baseUrl: stack.gateway, deviceKey: passkeyOf(simulatedPasskey()) });
    await client.signUp({ login: await logIn(newEmail()), chainName });
    const { proof } = await signInToFcl({ client });
    expect(await isProven(origin, proof)).toBe(true);
    const signatures = await fcl.currentUser.signUserMessage(hexOf("I agree"));
    expect(await isSigned("I agree", signatures)).toBe(true);
    expect([...proof.signatures, ...signatures].map(({ keyId }) => keyId)).toEqual([0, 0]);
  });

  it("gets nothing that the person refuses, or could not read", async () => {
    const { client, deviceKey, address } = await signUpPerson();
    const confirm = vi.fn();
    await signInToFcl({ client, confirm });
    const shown = { address: `0x${address}`, chainName, text: expect.stringContaining(address) };
    expect(confirm).toHaveBeenLastCalledWith({ kind: "account-proof", appIdentifier: origin, nonce, ...shown });
    await fcl.currentUser.signUserMessage(hexOf("I agree"));
    expect(confirm).toHaveBeenLastCalledWith({ kind: "user-message", message: "I agree", ...shown });

    const sign = vi.spyOn(deviceKey, "sign");
    confirm.mockRejectedValue(new Error("the person said no"));
    await fcl.currentUser.signUserMessage(hexOf("I agree")).catch(() => {});
    for (const bytes of ["ff".repeat(40), "61".repeat(32), hexOf("pay \u202e1")]) {
      await fcl.currentUser.signUserMessage(bytes).catch(() => {});
    }
    fcl.unauthenticate();
    expect((await signInToFcl({ client, confirm })).user.loggedIn).not.toBe(true);
    expect(sign).not.toHaveBeenCalled();
  });
});

import { accountProofMessage, InvalidMessageError, readPasskeySignature, userMessage } from "@countersign/flow";
import { hexToBytes } from "@countersign/keys";
import { verifySignature } from "@countersign/keys/node";
import { simulatedPasskey } from "@countersign/keys/testing";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { generateDeviceKey } from "./node/device-key.ts";
import type { Account, Key, UserKey } from "./resources.ts";
import { describeAccountProof, describeUserMessage, signAccountProof, signUserMessage } from "./user-message.ts";

const address = "0x01cf0e2f2f715450";
const chainName = "flow-emulator";
const server = { addr: address, keyId: 4, signature: "ab".repeat(64) };
const proof = { appIdentifier: "https://dapp.example", nonce: "75".repeat(32) };
const deviceKey = generateDeviceKey();
const send = vi.fn();
beforeEach(() => {
  send.mockReset().mockResolvedValue(server);
});

const clientWith = (key: UserKey) => ({
  deviceKey: key,
  me: async () => ({ addresses: [{ address, chainName, chainType: "cadence" }] }) as unknown as Account,
  // On each chain the key has an index of its own.
  keys: async () =>
    [
      { publicKey: key.publicKey, chainName: "another-chain", keyIndex: 7 },
      { publicKey: key.publicKey, chainName, keyIndex: 2 },
    ] as unknown as Key[],
});
const signedBytes = {
  text: userMessage(new TextEncoder().encode("I agree")),
  proof: accountProofMessage({ ...proof, address }),
};

describe.each([
  ["a text", signedBytes.text, { message: "49206167726565" }, signUserMessage, "I agree"],
  ["an account proof", signedBytes.proof, proof, signAccountProof, proof],
] as const)("%s", (_, message, body, sign, content) => {
  const signIt = (key: UserKey, confirm?: () => Promise<void>) =>
    sign(clientWith(key), content as never, { chainName, confirm }, send);

  it("is signed by the device's key, then by the server's", async () => {
    const [device, ...others] = await signIt(deviceKey);
    expect(others).toEqual([server]);
    expect(device).toEqual({ addr: address, keyId: 2, signature: expect.any(String) });
    expect(verifySignature(deviceKey, message, hexToBytes(device!.signature))).toBe(true);
    expect(send.mock.calls).toEqual([[{ ...body, address, chainName, signature: device!.signature }]]);
  });

  it("names the chains that the account is on, where it is not on this one", async () => {
    const call = sign(clientWith(deviceKey), content as never, { chainName: "flow-mainnet" }, send);
    await expect(call).rejects.toThrow(`the account has no address on flow-mainnet, it is on: ${chainName}`);
  });

  it("has the server's signature alone where a passkey has signed", async () => {
    const { publicKey, assert } = simulatedPasskey();
    const passkey = {
      ...publicKey,
      algorithm: "ES256" as const,
      assert: async (challenge: Uint8Array) => assert(challenge),
    };
    expect(await signIt(passkey)).toEqual([server]);
    const [{ signature, extensionData }] = send.mock.calls[0]!;
    expect(readPasskeySignature(signature, extensionData).clientDataJSON.length).toBeGreaterThan(0);
  });

  it("is not signed if the person refuses", async () => {
    const sign = vi.spyOn(deviceKey, "sign");
    await expect(signIt(deviceKey, () => Promise.reject(new Error("the person said no")))).rejects.toThrow("said no");
    expect(sign).not.toHaveBeenCalled();
    expect(send).not.toHaveBeenCalled();
    sign.mockRestore();
  });
});

describe("the description", () => {
  it("of a text has all of it", () => {
    expect(describeUserMessage("I agree", { address, chainName })).toEqual({
      kind: "user-message",
      message: "I agree",
      ...{ address, chainName },
      text: `Signs a text in the name of your account ${address} on ${chainName}; it moves nothing. The text: I agree`,
    });
  });

  it("of an account proof has the app", () => {
    expect(describeAccountProof({ ...proof, address }, chainName)).toEqual({
      kind: "account-proof",
      ...proof,
      ...{ address, chainName },
      text: `Proves to ${proof.appIdentifier} that the account ${address} on ${chainName} is yours, and signs you in there.`,
    });
  });

  it("of anything that the service does not sign is an error", () => {
    for (const text of ["", "x".repeat(32), "pay \u202e1"]) {
      expect(() => describeUserMessage(text, { address, chainName })).toThrow(InvalidMessageError);
    }
    expect(() => describeAccountProof({ ...proof, address, nonce: "75" }, chainName)).toThrow(InvalidMessageError);
  });
});

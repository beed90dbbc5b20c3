import { AppError } from "@countersign/core";
import { decodeMessage, payloadMessage, readKeyChange } from "@countersign/flow";
import { generateKeyPair } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import { accounts, address, block, chainName, key, paymaster, signal } from "../../testing/chain-account.ts";
import {
  activeServerKeys,
  device,
  list,
  options,
  prepared,
  reconcile,
  reconcileOpen,
  rotate,
  run,
  serverKeys,
  signer,
  world,
} from "../../testing/server-key-rotations.ts";
import type { KeyAdditionChain } from "../key-additions/key-addition.ts";
import { listServerKeyRotations } from "./list-server-key-rotations.ts";
import { waitForRotation } from "./wait-for-rotation.ts";

describe("a rotation", () => {
  it("is prepared where the account is behind: proposed by the old key, paid by the paymaster", async () => {
    const decoded = decodeMessage(await prepared());
    expect(readKeyChange(decoded)).toEqual({
      template: "rotate-server-key",
      oldKey: serverKeys[1],
      newServerKey: serverKeys[2],
    });
    expect(decoded).toMatchObject({
      kind: "payload",
      authorizers: [address],
      payer: paymaster,
      proposalKey: { address, keyId: 0, sequenceNumber: 5n },
    });
    world.wanted = 1;
    expect(await list()).toEqual([]);
  });

  it("is prepared on the chains that answer, and refused where none does", async () => {
    const [chain] = options.chains.values();
    const { account } = await accounts.find();
    const addresses = ["flow-away", chainName].map((name) => ({ ...account.addresses[0]!, chainName: name }));
    const find = async () => ({ account: { ...account, addresses }, deployment: undefined });
    const away: KeyAdditionChain = { ...chain!, latestBlock: () => Promise.reject(new Error("away")) };
    const listing = (here: KeyAdditionChain) => {
      const chains = new Map(["flow-away", chainName].map((name) => [name, name === chainName ? here : away]));
      return listServerKeyRotations({ ...options, accounts: { find }, chains, reconcile })(account.id, signal);
    };
    expect((await listing(chain!)).map((rotation) => rotation.chainName)).toEqual([chainName]);
    await expect(listing(away)).rejects.toThrow("away");
  });

  it("leads from version to version, until the account is where it is to be", async () => {
    world.wanted = 3;
    for (const version of [2, 3]) {
      const rotation = await rotate(await prepared());
      expect(await reconcile(rotation, signal)).toBe("sealed");
      expect(world.bound).toBe(version);
    }
    expect(await list()).toEqual([]);
    expect(activeServerKeys()).toMatchObject([{ index: 3, publicKey: serverKeys[3] }]);
  });

  it("of two at once is one, and a replay is the same again", async () => {
    const message = await prepared();
    const [one, other] = await Promise.all([rotate(message), rotate(message)]);
    expect(one!.transactionId).toBe(other!.transactionId);
    await reconcileOpen();
    const signed = world.signatures;
    expect((await rotate(message)).transactionId).toBe(one!.transactionId);
    expect(world.signatures).toBe(signed);
    expect(world.keys).toHaveLength(3);
  });

  it("that another one brought to its end meanwhile is that one", async () => {
    const message = await prepared();
    const signTransaction = async () => {
      await rotate(message);
      // As the signer answers once the binding has moved.
      throw new AppError("SigningRefused", { metadata: { reason: "BadTemplateArguments" } });
    };
    const late = await rotate(message, device, { ...options, signer: { ...signer, signTransaction } });
    expect(late.transactionId).toBe([...world.rows.values()][0]!.transactionId);
    expect(world.rows.size).toBe(1);
  });

  it("moves the signer only once the chain shows it", async () => {
    world.seals = false;
    const message = await prepared();
    const rotation = await rotate(message);
    expect(await reconcile(rotation, signal)).toBe("submitted");
    expect(world.bound).toBe(1);
    expect(await list()).toEqual([]);
    // Another block, so another message: one is under way.
    world.height += 1;
    const decoded = decodeMessage(message);
    const another = payloadMessage({ ...decoded, referenceBlockId: block(world.height) });
    await expect(rotate(another)).rejects.toMatchObject({ reason: "MessageRenewed" });
    world.height += 649;
    expect(await reconcile(rotation, signal)).toBe("submitted");
    world.height += 1;
    expect(await reconcile(rotation, signal)).toBe("failed");
    expect(world.bound).toBe(1);
    await expect(rotate(message)).rejects.toMatchObject({ reason: "MessageRenewed" });
    world.seals = true;
    await rotate(await prepared());
    await reconcileOpen();
    expect(world.bound).toBe(2);
  });

  it("that the chain refuses is tried again, and moves nothing", async () => {
    const message = await prepared();
    world.keys = [{ ...world.keys[0]!, sequenceNumber: 6n }, world.keys[1]!];
    await expect(rotate(message)).rejects.toMatchObject({ reason: "MessageRenewed" });
    const rotation = await rotate(
      await prepared().then((fresh) => {
        world.seals = false;
        return fresh;
      }),
    );
    world.results.set(rotation.transactionId, "failed");
    expect(await reconcile(rotation, signal)).toBe("failed");
    expect(world.bound).toBe(1);
  });

  it.each(["sealed", "failed"] as const)("is waited for until it is %s", async (state) => {
    const rotation = await rotate(await prepared());
    const wait = waitForRotation(async () => state, options.logger);
    expect(await wait(rotation, signal)).toBe(state === "sealed");
  });

  it("that was sealed under another id is found by its effect", async () => {
    world.seals = false;
    const rotation = await rotate(await prepared());
    run(rotation.transaction);
    expect(await reconcile(rotation, signal)).toBe("sealed");
    expect(world.bound).toBe(2);
  });

  it("that is sealed has not failed while a node that lags behind shows no new key, nor any key of its bytes", async () => {
    world.seals = false;
    const rotation = await rotate(await prepared());
    world.results.set(rotation.transactionId, "sealed");
    world.height += 651;
    const bytes = serverKeys[2]!;
    const [first, user] = world.keys;
    for (const keys of [world.keys, [first!, user!, key(2, bytes)], [{ ...first!, publicKey: bytes }, user!]]) {
      world.keys = keys;
      expect(await reconcile(rotation, signal)).toBe("submitted");
    }
    expect(world.bound).toBe(1);
  });

  it.each<[string, () => Promise<unknown>, string]>([
    ["another's signature", async () => rotate(await prepared(), generateKeyPair()), "InvalidSignature"],
    [
      "another's signature in the device's name",
      async () => rotate(await prepared(), { ...generateKeyPair(), publicKey: device.publicKey }),
      "InvalidSignature",
    ],
    [
      "the signature of a key that was revoked",
      async () => {
        const message = await prepared();
        world.keys = world.keys.map((each) => ({ ...each, revoked: each.index === 1 }));
        return rotate(message);
      },
      "InvalidSignature",
    ],
    [
      "a message that would be too old before it is sealed",
      async () => {
        const message = await prepared();
        world.height += 551;
        return rotate(message);
      },
      "MessageRenewed",
    ],
    ["bytes that are no message", () => rotate(Buffer.from("00", "hex")), "InvalidMessage"],
    [
      "a rotation to another key",
      async () => {
        const decoded = decodeMessage(await prepared());
        const args = decoded.arguments.map((text) => text.replace(serverKeys[2]!, "bb".repeat(64)));
        return rotate(payloadMessage({ ...decoded, arguments: args }));
      },
      "MessageRenewed",
    ],
    [
      "another script",
      async () => rotate(payloadMessage({ ...decodeMessage(await prepared()), script: "transaction {}" })),
      "InvalidMessage",
    ],
    [
      "another payer",
      async () => rotate(payloadMessage({ ...decodeMessage(await prepared()), payer: address })),
      "MessageRenewed",
    ],
  ])("is refused with %s, and nothing is signed", async (_, work, reason) => {
    await expect(work()).rejects.toMatchObject({ reason });
    expect(world.signatures).toBe(0);
    expect(world.rows.size).toBe(0);
  });
});

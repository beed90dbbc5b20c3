import { AppError } from "@countersign/errors";
import { decodeMessage, type FlowTransaction, payloadMessage, readKeyChange, transactionId } from "@countersign/flow";
import { bytesToHex } from "@countersign/keys";
import { generateKeyPair, signMessage } from "@countersign/keys/node";
import { FixedClock } from "@countersign/service-kit";
import { beforeEach, describe, expect, it } from "vitest";
import type { AccountKey, KeyAdditionChain, KeyAdditionOutcome } from "./key-addition.ts";
import { listServerKeyRotations } from "./list-server-key-rotations.ts";
import { type RotateServerKeyOptions, rotateServerKey } from "./rotate-server-key.ts";
import type { RotationSigner, ServerKeyRotation, ServerKeyRotationStore } from "./server-key-rotation.ts";
import { settleServerKeyRotation } from "./settle-server-key-rotation.ts";

const chainName = "flow-emulator";
const accountId = "01900000-0000-7000-8000-000000000001";
const address = "01cf0e2f2f715450";
const paymaster = "f3fcd2c1a78f5eee";
const signal = new AbortController().signal;
const device = generateKeyPair();
const serverKeys = ["", "a1", "a2", "a3"].map((digits) => digits.repeat(64));
const block = (height: number) => height.toString(16).padStart(64, "0");

/** A chain with one account, and a signer: what they do is theirs, however often this service dies. */
let height: number;
let keys: AccountKey[];
let results: Map<string, KeyAdditionOutcome["status"]>;
let rows: Map<string, ServerKeyRotation>;
let bound: number;
/** Where the signer has which version. */
let places: Map<number, number>;
let begun: number;
let wanted: number;
let signatures: number;
/** Whether the chain runs what comes. */
let seals: boolean;
/** Every call of a port counts; from the one with this number on, the process is dead. */
let calls: number;
let diesAt: number;

const key = (index: number, publicKey: string, change: Partial<AccountKey> = {}): AccountKey => ({
  index,
  publicKey,
  weight: 1,
  signatureAlgorithm: "ECDSA_P256",
  hashAlgorithm: "SHA2_256",
  sequenceNumber: 0n,
  revoked: false,
  ...change,
});
const serverKey = (index: number, version: number) =>
  key(index, serverKeys[version]!, { weight: 999, hashAlgorithm: "SHA3_256", sequenceNumber: 5n });

beforeEach(() => {
  height = 1000;
  keys = [serverKey(0, 1), key(1, device.publicKey.publicKey)];
  results = new Map();
  rows = new Map();
  places = new Map([[1, 0]]);
  [bound, begun, wanted, signatures, calls] = [1, 1, 2, 0, 0];
  diesAt = Number.POSITIVE_INFINITY;
  seals = true;
});

function run(transaction: FlowTransaction): KeyAdditionOutcome["status"] {
  const { keyId, sequenceNumber } = transaction.proposalKey;
  const proposer = keys[keyId]!;
  const change = readKeyChange(transaction);
  if (change?.template !== "rotate-server-key") throw new Error("no rotation");
  if (proposer.revoked || proposer.sequenceNumber !== sequenceNumber) return "failed";
  const version = serverKeys.indexOf(change.newServerKey);
  keys = [
    ...keys.map((each) => (each.index === keyId ? { ...each, revoked: true } : each)),
    serverKey(keys.length, version),
  ];
  return "sealed";
}

/** Dies before or after what a port does: killed before the call left, or before the answer came. */
async function alive<T>(work: () => T): Promise<T> {
  const die = () => {
    if (++calls >= diesAt) throw new Error("killed");
  };
  die();
  const result = work();
  die();
  return result;
}

const chain: KeyAdditionChain = {
  chainName,
  paymaster,
  maxReferenceAge: 650n,
  latestBlock: () => alive(() => ({ id: block(height), height: BigInt(height) })),
  blockHeight: (id) => alive(() => BigInt(`0x${id}`)),
  accountKeys: () => alive(() => keys),
  submit: (transaction) =>
    alive(() => {
      const id = transactionId(transaction);
      const isOld = BigInt(height) - BigInt(`0x${transaction.referenceBlockId}`) > 600n;
      if (isOld || !seals) return;
      if (!results.has(id)) results.set(id, run(transaction));
    }),
  keyAdditionOutcome: (id) => alive(() => ({ status: results.get(id) ?? "unknown", events: [] })),
};
const rowOf = ({ version }: Pick<ServerKeyRotation, "version">) => `${version}`;
const rotations: ServerKeyRotationStore = {
  newest: () => alive(() => [...rows.values()].sort((a, b) => b.version - a.version)[0]),
  commit: (rotation) =>
    alive(() => {
      const present = rows.get(rowOf(rotation));
      if (!present || present.state === "failed") rows.set(rowOf(rotation), rotation);
      return rows.get(rowOf(rotation))!;
    }),
  finish: (rotation, state) =>
    alive(() => {
      const present = rows.get(rowOf(rotation));
      if (present?.transactionId !== rotation.transactionId || present.state !== "submitted") return;
      rows.set(rowOf(rotation), { ...present, state });
    }),
  open: () => alive(() => [...rows.values()].filter(({ state }) => state === "submitted")),
};
const sign = (by: string, keyId: number) => () =>
  alive(() => {
    signatures += 1;
    begun = bound + 1;
    return { address: by, keyId, signature: signatures.toString(16).padStart(128, "0") };
  });
const signer: RotationSigner = {
  signTransaction: sign(address, 0),
  signPaymaster: sign(paymaster, 0),
  serverKeys: () =>
    alive(() => {
      const placed = (version: number) => ({ version, index: places.get(version)!, publicKey: serverKeys[version]! });
      return {
        current: placed(bound),
        next: bound < wanted ? { version: bound + 1, publicKey: serverKeys[bound + 1]! } : undefined,
        retired: [...places.keys()].filter((version) => version < bound).map(placed),
      };
    }),
  rotateBinding: ({ version }, index) =>
    alive(() => {
      if (version === bound) {
        places.set(version, index);
        return;
      }
      if (version === bound - 1 && places.get(version) === index) {
        places.delete(bound);
        bound = version;
        return;
      }
      // What the real one cannot see: the key is on chain, and the one before is not.
      const isThere = keys[index]?.publicKey === serverKeys[version] && keys[index]?.revoked === false;
      if (version !== bound + 1 || begun !== version || !isThere) throw new AppError("SigningRefused");
      bound = version;
      places.set(version, index);
    }),
};
const account = { id: accountId, profileImageUrl: "", createdAt: new Date(), updatedAt: new Date(), parents: [] };
const options = {
  accounts: {
    find: async () => ({
      account: { ...account, addresses: [{ chainName, chainType: "cadence" as const, address, chainId: 646 }] },
      deployment: undefined,
    }),
  },
  chains: new Map([[chainName, chain]]),
  rotations,
  signer,
  passkeys: { relyingPartiesOf: () => [] },
  clock: new FixedClock(),
  logger: { warn: () => undefined },
};
const settle = settleServerKeyRotation(options);
const list = () => listServerKeyRotations({ ...options, settle })(accountId, signal);
const rotate = (message: Uint8Array, by = device, using: RotateServerKeyOptions = options) =>
  rotateServerKey(using)(
    {
      accountId,
      chainName,
      message,
      userKey: by.publicKey,
      signature: { signature: bytesToHex(signMessage(by.privateKey, message)) },
      appId: "demo",
    },
    {},
    signal,
  );
const prepared = async () => (await list())[0]!.message;
const settleOpen = async () => {
  for (const rotation of await rotations.open(9)) await settle(rotation, signal);
};
const activeServerKeys = () => keys.filter(({ revoked, weight }) => !revoked && weight === 999);

describe("what the signer was told wrongly in our name is told right, when a device asks for rotations", () => {
  it("another index", async () => {
    await rotate(await prepared());
    await settleOpen();
    places.set(2, 9);
    expect(await list()).toEqual([]);
    expect([bound, places.get(2)]).toEqual([2, 2]);
    // Nothing more to mend.
    const before = calls;
    await list();
    expect(places.get(2)).toBe(2);
    expect(calls).toBeGreaterThan(before);
  });

  it("a rotation that was signed and never ran", async () => {
    seals = false;
    await rotate(await prepared());
    height += 700;
    await settleOpen();
    [bound, places] = [2, new Map([...places, [2, 2]])];
    expect(await list()).toEqual([]);
    expect([bound, places.get(2)]).toEqual([1, undefined]);
    // And now it comes.
    seals = true;
    await rotate(await prepared());
    await settleOpen();
    expect([bound, places.get(2)]).toEqual([2, 2]);
  });

  it("that nothing was rotated where it was", async () => {
    await rotate(await prepared());
    await settleOpen();
    [bound, places] = [1, new Map([[1, 0]])];
    expect(await list()).toEqual([]);
    expect([bound, places.get(2)]).toEqual([2, 2]);
  });

  it("but a node that lags behind takes nothing back that we have seen", async () => {
    const old = keys;
    await rotate(await prepared());
    await settleOpen();
    const seen = keys;
    keys = old;
    expect(await list()).toEqual([]);
    expect(bound).toBe(2);
    height += 650;
    await list();
    expect(bound).toBe(2);
    keys = seen;
    height += 1;
    await list();
    expect(bound).toBe(2);
  });
});

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
    wanted = 1;
    expect(await list()).toEqual([]);
  });

  it("leads from version to version, until the account is where it is to be", async () => {
    wanted = 3;
    for (const version of [2, 3]) {
      const rotation = await rotate(await prepared());
      expect(await settle(rotation, signal)).toBe("sealed");
      expect(bound).toBe(version);
    }
    expect(await list()).toEqual([]);
    expect(activeServerKeys()).toMatchObject([{ index: 3, publicKey: serverKeys[3] }]);
  });

  it("of two at once is one, and a replay is the same again", async () => {
    const message = await prepared();
    const [one, other] = await Promise.all([rotate(message), rotate(message)]);
    expect(one!.transactionId).toBe(other!.transactionId);
    await settleOpen();
    const signed = signatures;
    expect((await rotate(message)).transactionId).toBe(one!.transactionId);
    expect(signatures).toBe(signed);
    expect(keys).toHaveLength(3);
  });

  it("that another one brought to its end meanwhile is that one", async () => {
    const message = await prepared();
    const signTransaction = async () => {
      await rotate(message);
      // As the signer answers once the binding has moved.
      throw new AppError("SigningRefused", { metadata: { reason: "BadTemplateArguments" } });
    };
    const late = await rotate(message, device, { ...options, signer: { ...signer, signTransaction } });
    expect(late.transactionId).toBe([...rows.values()][0]!.transactionId);
    expect(rows.size).toBe(1);
  });

  it("moves the signer only once the chain shows it", async () => {
    seals = false;
    const message = await prepared();
    const rotation = await rotate(message);
    expect(await settle(rotation, signal)).toBe("submitted");
    expect(bound).toBe(1);
    expect(await list()).toEqual([]);
    // Another block, so another message: one is under way.
    height += 1;
    const decoded = decodeMessage(message);
    const another = payloadMessage({ ...decoded, referenceBlockId: block(height) });
    await expect(rotate(another)).rejects.toMatchObject({ reason: "MessageRenewed" });
    height += 649;
    expect(await settle(rotation, signal)).toBe("submitted");
    height += 1;
    expect(await settle(rotation, signal)).toBe("failed");
    expect(bound).toBe(1);
    seals = true;
    await rotate(await prepared());
    await settleOpen();
    expect(bound).toBe(2);
  });

  it("that the chain refuses is tried anew, and moves nothing", async () => {
    const message = await prepared();
    keys = [{ ...keys[0]!, sequenceNumber: 6n }, keys[1]!];
    await expect(rotate(message)).rejects.toMatchObject({ reason: "MessageRenewed" });
    const rotation = await rotate(
      await prepared().then((fresh) => {
        seals = false;
        return fresh;
      }),
    );
    results.set(rotation.transactionId, "failed");
    expect(await settle(rotation, signal)).toBe("failed");
    expect(bound).toBe(1);
  });

  it("that was sealed under another id is found by its effect", async () => {
    seals = false;
    const rotation = await rotate(await prepared());
    run(rotation.transaction);
    expect(await settle(rotation, signal)).toBe("sealed");
    expect(bound).toBe(2);
  });

  it.each<[string, () => Promise<unknown>, string]>([
    ["another's signature", async () => rotate(await prepared(), generateKeyPair()), "InvalidSignature"],
    ["what is no message", () => rotate(Buffer.from("00", "hex")), "InvalidMessage"],
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
    expect(signatures).toBe(0);
    expect(rows.size).toBe(0);
  });
});

it("killed before or after any call, a rotation is done or nothing has happened, and asking again does it", async () => {
  let kills = 0;
  for (let at = 1; ; at++) {
    [height, bound, begun, signatures, calls] = [1000, 1, 1, 0, 0];
    places = new Map([[1, 0]]);
    keys = [serverKey(0, 1), key(1, device.publicKey.publicKey)];
    rows.clear();
    results.clear();
    diesAt = at;
    const done = await (async () => settle(await rotate(await prepared()), signal))().then(
      () => true,
      (error: Error) => {
        if (error.message !== "killed") throw error;
        return false;
      },
    );
    const dead = calls >= at;
    diesAt = Number.POSITIVE_INFINITY;
    // The next process: the settler goes on, and the person asks again.
    await settleOpen();
    for (const { message } of await list()) await rotate(message);
    await settleOpen();
    expect(bound, `killed at call ${at}`).toBe(2);
    expect(activeServerKeys(), `killed at call ${at}`).toMatchObject([{ index: 2, publicKey: serverKeys[2] }]);
    expect(keys).toHaveLength(3);
    expect(await list()).toEqual([]);
    if (done && !dead) break;
    kills += 1;
  }
  expect(kills).toBeGreaterThan(30);
});

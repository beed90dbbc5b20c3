import { AppError } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { type FlowTransaction, readKeyChange, transactionId } from "@countersign/flow";
import { bytesToHex } from "@countersign/keys";
import { generateKeyPair, signMessage } from "@countersign/keys/node";
import { beforeEach } from "vitest";
import type { AccountKey, KeyAdditionChain, KeyAdditionOutcome } from "../domain/key-additions/key-addition.ts";
import { listServerKeyRotations } from "../domain/server-keys/list-server-key-rotations.ts";
import { reconcileServerKeyRotation } from "../domain/server-keys/reconcile-server-key-rotation.ts";
import { type RotateServerKeyOptions, rotateServerKey } from "../domain/server-keys/rotate-server-key.ts";
import type {
  RotationSigner,
  ServerKeyRotation,
  ServerKeyRotationStore,
} from "../domain/server-keys/server-key-rotation.ts";
import {
  accountId,
  accounts,
  address,
  block,
  chainName,
  key,
  paymaster,
  serverKeyAt,
  signal,
} from "./chain-account.ts";

export const device = generateKeyPair();
/** By version, from 1. */
export const serverKeys = ["", "a1", "a2", "a3"].map((digits) => digits.repeat(64));
const serverKey = (index: number, version: number) => serverKeyAt(index, serverKeys[version]!);

/** A chain with one account, and a signer: what they do is theirs, however often this service dies. */
export const world = {
  height: 0,
  keys: [] as AccountKey[],
  results: new Map<string, KeyAdditionOutcome["status"]>(),
  rows: new Map<string, ServerKeyRotation>(),
  bound: 0,
  /** Where the signer has which version. */
  places: new Map<number, number>(),
  begun: 0,
  wanted: 0,
  signatures: 0,
  /** Whether the chain runs what comes. */
  seals: true,
  /** Every call of a port counts; from the one with this number on, the process is dead. */
  calls: 0,
  diesAt: 0,
};

/** As before anything has happened. */
export function reset(): void {
  world.height = 1000;
  world.keys = [serverKey(0, 1), key(1, device.publicKey.publicKey)];
  world.results = new Map();
  world.rows = new Map();
  world.places = new Map([[1, 0]]);
  [world.bound, world.begun, world.wanted, world.signatures, world.calls] = [1, 1, 2, 0, 0];
  world.diesAt = Number.POSITIVE_INFINITY;
  world.seals = true;
}
beforeEach(reset);

/** Executes a rotation as the chain does. */
export function run(transaction: FlowTransaction): KeyAdditionOutcome["status"] {
  const { keyId, sequenceNumber } = transaction.proposalKey;
  const proposer = world.keys[keyId]!;
  const change = readKeyChange(transaction);
  if (change?.template !== "rotate-server-key") throw new Error("no rotation");
  if (proposer.revoked || proposer.sequenceNumber !== sequenceNumber) return "failed";
  const version = serverKeys.indexOf(change.newServerKey);
  world.keys = [
    ...world.keys.map((each) => (each.index === keyId ? { ...each, revoked: true } : each)),
    serverKey(world.keys.length, version),
  ];
  return "sealed";
}

/** Dies before or after what a port does: killed before the call left, or before the answer came. */
async function alive<T>(work: () => T): Promise<T> {
  const die = () => {
    if (++world.calls >= world.diesAt) throw new Error("killed");
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
  latestBlock: () => alive(() => ({ id: block(world.height), height: BigInt(world.height) })),
  blockHeight: (id) => alive(() => BigInt(`0x${id}`)),
  accountKeys: () => alive(() => world.keys),
  submit: (transaction) =>
    alive(() => {
      const id = transactionId(transaction);
      const isOld = BigInt(world.height) - BigInt(`0x${transaction.referenceBlockId}`) > 600n;
      if (isOld || !world.seals) return;
      if (!world.results.has(id)) world.results.set(id, run(transaction));
    }),
  keyAdditionOutcome: (id) => alive(() => ({ status: world.results.get(id) ?? "unknown", events: [] })),
};
const rowOf = ({ version }: Pick<ServerKeyRotation, "version">) => `${version}`;
export const rotations: ServerKeyRotationStore = {
  newest: () => alive(() => [...world.rows.values()].sort((a, b) => b.version - a.version)[0]),
  commit: (rotation) =>
    alive(() => {
      const present = world.rows.get(rowOf(rotation));
      if (!present || present.state === "failed") world.rows.set(rowOf(rotation), rotation);
      return world.rows.get(rowOf(rotation))!;
    }),
  finish: (rotation, state) =>
    alive(() => {
      const present = world.rows.get(rowOf(rotation));
      if (present?.transactionId !== rotation.transactionId || present.state !== "submitted") return;
      world.rows.set(rowOf(rotation), { ...present, state });
    }),
  open: () => alive(() => [...world.rows.values()].filter(({ state }) => state === "submitted")),
};
const sign = (by: string, keyId: number) => () =>
  alive(() => {
    world.signatures += 1;
    world.begun = world.bound + 1;
    return { address: by, keyId, signature: world.signatures.toString(16).padStart(128, "0") };
  });
export const signer: RotationSigner = {
  signTransaction: sign(address, 0),
  signPaymaster: sign(paymaster, 0),
  serverKeys: () =>
    alive(() => {
      const placed = (version: number) => ({
        version,
        index: world.places.get(version)!,
        publicKey: serverKeys[version]!,
      });
      return {
        current: placed(world.bound),
        next:
          world.bound < world.wanted
            ? { version: world.bound + 1, publicKey: serverKeys[world.bound + 1]! }
            : undefined,
        retired: [...world.places.keys()].filter((version) => version < world.bound).map(placed),
      };
    }),
  rotateBinding: ({ version }, index, replaces) =>
    alive(() => {
      const refused = () => new AppError("SigningRefused", { metadata: { reason: "BindingConflict" } });
      const recorded = world.places.get(version);
      if (replaces !== undefined) {
        if (replaces !== world.bound || version !== world.bound - 1 || recorded !== index) throw refused();
        world.places.delete(world.bound);
        world.bound = version;
        return;
      }
      if (recorded === index) return;
      const [before = -1, after = 10_000] = [version - 1, version + 1].map((other) => world.places.get(other));
      if (index <= before || index >= after) throw refused();
      if (recorded !== undefined) {
        if (version === 1) throw refused();
        world.places.set(version, index);
        return;
      }
      // A check that the real signer cannot make: the key is on chain, and the one before is not.
      const isThere = world.keys[index]?.publicKey === serverKeys[version] && world.keys[index]?.revoked === false;
      if (version !== world.bound + 1 || world.begun !== version || !isThere) throw new AppError("SigningRefused");
      world.bound = version;
      world.places.set(version, index);
    }),
};
export const options = {
  accounts,
  chains: new Map([[chainName, chain]]),
  rotations,
  signer,
  passkeys: { relyingPartiesOf: () => [] },
  clock: new FixedClock(),
  logger: { warn: () => undefined },
};
export const reconcile = reconcileServerKeyRotation(options);
export const list = () => listServerKeyRotations({ ...options, reconcile })(accountId, signal);
export const rotate = (message: Uint8Array, by = device, using: RotateServerKeyOptions = options) =>
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
export const prepared = async () => (await list())[0]!.message;
export const reconcileOpen = async () => {
  for (const rotation of await rotations.open(chainName, 9)) await reconcile(rotation, signal);
};
export const activeServerKeys = () => world.keys.filter(({ revoked, weight }) => !revoked && weight === 999);

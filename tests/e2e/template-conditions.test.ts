import {
  type CadenceValue,
  cadenceArray,
  cadenceBool,
  cadenceString,
  cadenceUFix64,
  cadenceUInt8,
  createAccountsScript,
  encodeCadence,
  type FlowTransaction,
  type KeyChange,
  keyChangeArguments,
  keyTemplateScript,
} from "@countersign/flow";
import { withEnvelopeSignature, withPayloadSignature } from "@countersign/flow/node";
import type { PublicKey } from "@countersign/keys";
import { generateKeyPair, type KeyPair, type SignatureHash } from "@countersign/keys/node";
import { ensureServiceKey, serviceAddress } from "@countersign/local-stack/emulator.ts";
import { ServiceAccount } from "@countersign/local-stack/service-account.ts";
import { describe, expect, it } from "vitest";
import { stateDir } from "../security/secrets.ts";
import { access, chain } from "../support/person.ts";

/**
 * The signer does not see the chain: conditions on an account's present keys are in the templates' Cadence.
 * Each condition is tested with a transaction that it stops, signed with the account's full weight.
 */
const service = new ServiceAccount(chain.accessNode, ensureServiceKey(stateDir));

interface Held {
  readonly pair: KeyPair;
  readonly weight: number;
  readonly hash: SignatureHash;
}
const server = (pair = generateKeyPair()): Held => ({ pair, weight: 999, hash: "sha3-256" });
const recovery = (pair = generateKeyPair()): Held => ({ pair, weight: 999, hash: "sha256" });
const user = (pair = generateKeyPair(), weight = 1): Held => ({ pair, weight, hash: "sha256" });

const CREATE = `transaction(keys: [String], curves: [UInt8], hashes: [UInt8], weights: [UFix64]) {
  prepare(payer: auth(BorrowValue) &Account) {
    let account = Account(payer: payer)
    for i, key in keys {
      account.keys.add(publicKey: PublicKey(publicKey: key.decodeHex(), signatureAlgorithm: SignatureAlgorithm(rawValue: curves[i])!),
        hashAlgorithm: HashAlgorithm(rawValue: hashes[i])!, weight: weights[i])
    }
  }
}`;

interface Odd {
  readonly address: string;
  readonly keys: readonly Held[];
}

/** Creates an account with any keys, also with keys that the service never creates. */
async function holding(...keys: Held[]): Promise<Odd> {
  const list = (of: (key: Held) => CadenceValue) => cadenceArray(keys.map(of));
  const events = await service.run(CREATE, [
    list(({ pair }) => cadenceString(pair.publicKey.publicKey)),
    list(({ pair }) => cadenceUInt8(pair.publicKey.algorithm === "ES256K" ? 2 : 1)),
    list(({ hash }) => cadenceUInt8(hash === "sha256" ? 1 : 3)),
    list(({ weight }) => cadenceUFix64(weight.toFixed(8))),
  ]);
  const made = events.find(({ type }) => type === "flow.AccountCreated")!;
  return { address: String(made.fields.address).replace("0x", ""), keys };
}

/** Runs a template with the first two keys' signatures; returns the chain's error. */
async function run({ address, keys }: Odd, change: KeyChange, by = [0, 1]): Promise<string> {
  const [block, key] = await Promise.all([access.latestSealedBlock(), access.accountKey(address, by[0]!)]);
  const unsigned: FlowTransaction = {
    script: keyTemplateScript(change.template),
    arguments: keyChangeArguments(change).map(encodeCadence),
    referenceBlockId: block.id,
    gasLimit: 9999n,
    proposalKey: { address, keyId: by[0]!, sequenceNumber: key.sequenceNumber },
    payer: serviceAddress,
    authorizers: [address],
    payloadSignatures: [],
    envelopeSignatures: [],
  };
  const signed = by.reduce((tx, keyId) => {
    const { pair, hash } = keys[keyId]!;
    return withPayloadSignature(tx, { address, keyId, privateKey: pair.privateKey, hash });
  }, unsigned);
  const id = await access.submit(withEnvelopeSignature(signed, service.signer));
  return (await access.waitForSeal(id, { signal: AbortSignal.timeout(20_000) })).errorMessage;
}

/** Active keys, "index:weight:hash". */
const active = async ({ address }: Odd) =>
  (await access.accountKeys(address))
    .filter(({ revoked }) => !revoked)
    .map(({ index, weight, hashAlgorithm }) => `${index}:${weight}:${hashAlgorithm}`);

async function refuses(account: Odd, cases: readonly [what: string, change: KeyChange, why: string][]) {
  const before = await active(account);
  for (const [what, change, why] of cases) expect(await run(account, change), what).toContain(why);
  expect(await active(account)).toEqual(before);
}

const PRIMES = {
  ES256: 0xffffffff00000001000000000000000000000000ffffffffffffffffffffffffn,
  ES256K: 0xfffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2fn,
};
/** Returns the same holder's other key: (x, −y). */
function negated({ algorithm, publicKey }: PublicKey): PublicKey {
  const y = PRIMES[algorithm as keyof typeof PRIMES] - BigInt(`0x${publicKey.slice(64)}`);
  return { algorithm, publicKey: publicKey.slice(0, 64) + y.toString(16).padStart(64, "0") };
}
const keyOf = ({ pair }: Held) => pair.publicKey;
const bytesOf = ({ pair }: Held) => pair.publicKey.publicKey;
const ALREADY = "key is on the account already";
const HEAVY = "another heavy key is active";

describe("on the chain", { timeout: 180_000 }, () => {
  it("a user key weighs 1 with SHA2-256, is on no account twice, in any encoding, and is at most the hundredth", async () => {
    const secp = user(generateKeyPair("ES256K"));
    const account = await holding(server(), user(), recovery(), secp);
    const [own, device, backup] = account.keys as [Held, Held, Held, Held];
    const add = (newKey: PublicKey): KeyChange => ({ template: "add-user-key", newKey });
    await refuses(account, [
      ["the device's", add(keyOf(device)), ALREADY],
      ["the server's", add(keyOf(own)), ALREADY],
      ["the recovery key", add(keyOf(backup)), ALREADY],
      ["the device's negation", add(negated(keyOf(device))), ALREADY],
      ["the server's negation", add(negated(keyOf(own))), ALREADY],
      ["the recovery key's negation", add(negated(keyOf(backup))), ALREADY],
      ["one on another curve", add(negated(keyOf(secp))), ALREADY],
    ]);
    expect(await run(account, add(generateKeyPair().publicKey))).toBe("");
    expect(await run(account, add(generateKeyPair("ES256K").publicKey))).toBe("");
    expect((await active(account)).slice(-2)).toEqual(["4:1:SHA2_256", "5:1:SHA2_256"]);
    expect(await run(account, add(generateKeyPair().publicKey), [1])).not.toBe("");
    expect(await run(account, add(generateKeyPair().publicKey), [0])).not.toBe("");

    const crowd = await holding(server(), ...Array.from({ length: 98 }, () => user()));
    expect(await run(crowd, add(generateKeyPair().publicKey))).toBe("");
    expect(await run(crowd, add(generateKeyPair().publicKey))).toContain("too many keys");
  });

  it("a recovery key weighs 999 with SHA2-256, and is the only heavy one beside the server's", async () => {
    const account = await holding(server(), user());
    const [own, device] = account.keys as [Held, Held];
    const add = (newKey: PublicKey, by = bytesOf(own)): KeyChange => ({
      template: "add-recovery-key",
      serverKey: by,
      newKey,
    });
    const next = () => generateKeyPair().publicKey;
    await refuses(account, [
      ["the device's", add(keyOf(device)), ALREADY],
      ["the device's negation", add(negated(keyOf(device))), ALREADY],
      ["the server's", add(keyOf(own)), ALREADY],
      ["with another account's server key", add(next(), bytesOf(server())), HEAVY],
      ["with the device's in the server's place", add(next(), bytesOf(device)), HEAVY],
    ]);
    const first = generateKeyPair().publicKey;
    expect(await run(account, add(first))).toBe("");
    expect(await active(account)).toContain("2:999:SHA2_256");
    await refuses(account, [
      ["a second one", add(next()), HEAVY],
      ["a second one, the first in the server's place", add(next(), first.publicKey), HEAVY],
    ]);
    for (const weight of [0, 2, 500, 998, 1000]) {
      const odd = await holding(server(), user(), user(generateKeyPair(), weight));
      const change = add(next(), bytesOf(odd.keys[0]!));
      await refuses(odd, [[`beside a key of ${weight}`, change, HEAVY]]);
    }
    const pair = generateKeyPair();
    const twoServers = await holding(server(pair), user(), server(pair));
    await refuses(twoServers, [
      ["where the server key stands twice", add(next(), pair.publicKey.publicKey), "server key is not active"],
    ]);
  });

  it("a recovery key is replaced in one step, by one that nobody holds, in the place of the right one", async () => {
    const account = await holding(server(), user(), recovery());
    const [own, device, backup] = account.keys as [Held, Held, Held];
    const replace = (newKey: PublicKey, oldKey = bytesOf(backup), serverKey = bytesOf(own)): KeyChange => ({
      template: "replace-recovery-key",
      serverKey,
      oldKey,
      newKey,
    });
    const next = generateKeyPair().publicKey;
    await refuses(account, [
      ["by the device's", replace(keyOf(device)), ALREADY],
      ["by the device's negation", replace(negated(keyOf(device))), ALREADY],
      ["by the server's", replace(keyOf(own)), ALREADY],
      ["by itself", replace(keyOf(backup)), ALREADY],
      ["the two heavy keys exchanged", replace(next, bytesOf(own), bytesOf(backup)), HEAVY],
      ["a key that is not there", replace(next, bytesOf(recovery())), HEAVY],
      ["the device's in its place", replace(next, bytesOf(device)), HEAVY],
      ["another account's server key", replace(next, bytesOf(backup), bytesOf(server())), HEAVY],
    ]);
    expect(await run(account, replace(next))).toBe("");
    expect(await active(account)).toEqual(["0:999:SHA3_256", "1:1:SHA2_256", "3:999:SHA2_256"]);
    const without = await holding(server(), user());
    const change = replace(generateKeyPair().publicKey, bytesOf(recovery()), bytesOf(without.keys[0]!));
    await refuses(without, [["where there is none", change, "no such recovery key"]]);
    const pair = generateKeyPair();
    const twoServers = await holding(server(pair), user(), recovery(), server(pair));
    const twice = replace(generateKeyPair().publicKey, bytesOf(twoServers.keys[2]!), pair.publicKey.publicKey);
    await refuses(twoServers, [["where the server key stands twice", twice, "server key is not active"]]);
    const odd = await holding(server(), user(), recovery(), user(generateKeyPair(), 500));
    const [oddServer, , oddBackup] = odd.keys as [Held, Held, Held, Held];
    const beside = replace(generateKeyPair().publicKey, bytesOf(oddBackup), bytesOf(oddServer));
    await refuses(odd, [["beside another heavy key", beside, HEAVY]]);
  });

  it("the recovery key goes, and no other one in its name; what stays can act", async () => {
    const account = await holding(server(), user(), recovery());
    const [own, device, backup] = account.keys as [Held, Held, Held];
    const revoke = (oldKey: string, serverKey = bytesOf(own)): KeyChange => ({
      template: "revoke-recovery-key",
      serverKey,
      oldKey,
    });
    await refuses(account, [
      ["the server's", revoke(bytesOf(own)), "not a recovery key"],
      ["the server's, the two exchanged", revoke(bytesOf(own), bytesOf(backup)), "not a recovery key"],
      ["the device's", revoke(bytesOf(device)), "not a recovery key"],
      ["one that is not there", revoke(bytesOf(recovery())), "no such recovery key"],
      ["another account's server key", revoke(bytesOf(backup), bytesOf(server())), "nobody could act any more"],
    ]);
    const userless = await holding(server(), recovery());
    const [itsServer, itsBackup] = userless.keys as [Held, Held];
    const last = revoke(bytesOf(itsBackup), bytesOf(itsServer));
    await refuses(userless, [["where no user key stays", last, "nobody could act any more"]]);
    expect(await run(account, revoke(bytesOf(backup)))).toBe("");
    expect(await active(account)).toEqual(["0:999:SHA3_256", "1:1:SHA2_256"]);
    const twice = generateKeyPair();
    const doubled = await holding(server(), user(), recovery(twice), recovery(twice));
    expect(await run(doubled, revoke(twice.publicKey.publicKey, bytesOf(doubled.keys[0]!)))).toBe("");
    expect(await active(doubled)).toEqual(["0:999:SHA3_256", "1:1:SHA2_256"]);
  });

  it("a user key goes at every index that it has, never the last one, and no heavy key in its name", async () => {
    const twice = generateKeyPair();
    const account = await holding(server(), user(), recovery(), user(twice), user(twice));
    const [own, device, backup] = account.keys as [Held, Held, Held];
    const revoke = (oldKey: string): KeyChange => ({ template: "revoke-user-key", oldKey });
    await refuses(account, [
      ["the server's", revoke(bytesOf(own)), "not a user key"],
      ["the recovery key", revoke(bytesOf(backup)), "not a user key"],
      ["one that is not there", revoke(bytesOf(user())), "no such user key"],
    ]);
    expect(await run(account, revoke(twice.publicKey.publicKey))).toBe("");
    expect(await active(account)).toEqual(["0:999:SHA3_256", "1:1:SHA2_256", "2:999:SHA2_256"]);
    await refuses(account, [["the last one", revoke(bytesOf(device)), "the last user key"]]);
    const only = await holding(server(), user(twice), user(twice));
    await refuses(only, [["the last one, at two indexes", revoke(twice.publicKey.publicKey), "the last user key"]]);
  });

  it("accounts are made in lists of equal length, with two holders each", async () => {
    const script = createAccountsScript(serviceAddress);
    const pairs = Array.from({ length: 11 }, () => [generateKeyPair().publicKey, generateKeyPair().publicKey] as const);
    const create = async (servers: PublicKey[], users: PublicKey[], curves = users.map(() => false)) => {
      const texts = (keys: PublicKey[]) => cadenceArray(keys.map(({ publicKey }) => cadenceString(publicKey)));
      const args = [texts(servers), texts(users), cadenceArray(curves.map(cadenceBool))];
      return service.run(script, args).then(
        () => "",
        ({ message }: Error) => message,
      );
    };
    const [first, second] = pairs as [(typeof pairs)[0], (typeof pairs)[0]];
    expect(await create([], [])).toContain("one to ten accounts");
    expect(
      await create(
        pairs.map(([each]) => each),
        pairs.map(([, each]) => each),
      ),
    ).toContain("one to ten accounts");
    expect(await create([first[0], second[0]], [first[1]])).toContain("lists of unequal length");
    expect(await create([first[0]], [first[1]], [])).toContain("lists of unequal length");
    const SAME = "server key and user key are the same";
    expect(await create([first[0]], [first[0]])).toContain(SAME);
    expect(await create([first[0]], [negated(first[0])])).toContain(SAME);
    expect(await create([first[0], second[0]], [first[1], second[1]])).toBe("");
  });
});

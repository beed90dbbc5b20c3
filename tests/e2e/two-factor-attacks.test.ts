import { readKeyAddition, sendKeyAddition, type TwoFactorAsked } from "@countersign/client";
import {
  type CadenceValue,
  cadenceBool,
  cadenceString,
  cadenceUFix64,
  createAccessApi,
  decodeMessage,
  payloadMessage,
} from "@countersign/flow";
import { bytesToHex, hexToBytes } from "@countersign/keys";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { query } from "../security/token-forge.ts";
import { runAsOwner } from "./chain-owner.ts";
import { lookAt } from "./operator.ts";
import { call, chain, chainName, logIn, newPhone, type Person, type Phone, problemOf, signUpPerson } from "./person.ts";

const access = createAccessApi({ baseUrl: chain.accessNode });
const network = { chainName, accessNode: chain.accessNode, paymaster: chain.paymaster };

interface Newcomer extends Phone {
  asked: TwoFactorAsked;
}

let owner: Person;
let stranger: Person;
beforeAll(async () => {
  [owner, stranger] = await Promise.all([signUpPerson(), signUpPerson()]);
});

async function ask(phone: Phone = newPhone(), of = owner): Promise<Newcomer> {
  const login = await logIn(of.email);
  return { ...phone, asked: await phone.client.requestTwoFactor({ login, chainName }) };
}

const idOf = ({ asked }: Newcomer): string => asked.twoFactorAuth.id;
/** Again while the services have not heard yet that the operator lifted the chain watch's freeze. */
async function approve(id: string, body: object, by = owner) {
  for (let round = 0; ; round++) {
    const token = by.client.credentials!.accessToken;
    const answer = await call("POST", `/device/v1/2fa/${id}/approve`, { token, body });
    if (answer.body?.error !== "AccountFrozen" || round === 50) return answer;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
const statusOf = async (newcomer: Newcomer) => (await owner.client.twoFactor(idOf(newcomer))).status;

/** A transaction of the account's owner that adds a key as told, around whatever else it does. */
const adding = (entitlements: string, body: string) => `
transaction(key: String, weight: UFix64, sha3: Bool) {
  prepare(account: auth(AddKey${entitlements}) &Account) {
    let new = PublicKey(publicKey: key.decodeHex(), signatureAlgorithm: SignatureAlgorithm.ECDSA_P256)
    let hash = sha3 ? HashAlgorithm.SHA3_256 : HashAlgorithm.SHA2_256
    let added = account.keys.add(publicKey: new, hashAlgorithm: hash, weight: weight)
    ${body}
  }
}`;
const PLAIN = adding("", "");
const args = ({ deviceKey }: Phone, weight = "1.00000000", sha3 = false): CadenceValue[] => [
  cadenceString(deviceKey.publicKey),
  cadenceUFix64(weight),
  cadenceBool(sha3),
];
const other = () => newPhone().deviceKey.publicKey;

describe("a transaction that is named as the approval", () => {
  let newcomer: Newcomer;
  beforeEach(async () => {
    newcomer = await ask();
  });
  const run = async (script: string, values = args(newcomer), by = owner) => {
    const { id, result } = await runAsOwner(by, script, values);
    expect(result.errorMessage).toBe("");
    // The chain watch freezes whoever does this by hand.
    await lookAt(by, id);
    return id;
  };
  const report = (txId: string) => approve(idOf(newcomer), { txId });
  const mismatch = { status: 422, body: { error: "TransactionMismatch" } };

  it("counts when it added the key and did nothing else, whoever built it", async () => {
    expect(await report(await run(PLAIN))).toMatchObject({ status: 204 });
    const { account } = await newcomer.client.waitForTwoFactor(newcomer.asked);
    expect(account.id).toBe(owner.signedUp.account.id);
  });

  it.each<[string, () => Promise<string>]>([
    ["gave the key another weight", () => run(PLAIN, args(newcomer, "2.00000000"))],
    ["gave the key no weight", () => run(PLAIN, args(newcomer, "0.00000000"))],
    ["gave the key the weight of the server", () => run(PLAIN, args(newcomer, "999.00000000"))],
    ["gave the key another hash", () => run(PLAIN, args(newcomer, "1.00000000", true))],
    ["added the key to another account", () => run(PLAIN, args(newcomer), stranger)],
    ["added another key", () => run(PLAIN, args(newPhone()))],
    ["removed the key again", () => run(adding(", RevokeKey", "account.keys.revoke(keyIndex: added.keyIndex)"))],
    [
      "added the key twice",
      () => run(adding("", "account.keys.add(publicKey: new, hashAlgorithm: hash, weight: weight)")),
    ],
    [
      "added another key as well",
      () =>
        run(
          adding(
            "",
            `account.keys.add(
               publicKey: PublicKey(publicKey: "${other()}".decodeHex(), signatureAlgorithm: SignatureAlgorithm.ECDSA_P256),
               hashAlgorithm: hash, weight: 1000.0)`,
          ),
        ),
    ],
    [
      "put a contract on the account as well",
      () =>
        run(adding(", AddContract", `account.contracts.add(name: "Sly", code: "access(all) contract Sly {}".utf8)`)),
    ],
    [
      "gave a capability of the storage out as well",
      () =>
        run(
          adding(
            ", IssueStorageCapabilityController, PublishCapability",
            `let issued = account.capabilities.storage.issue<&Int>(/storage/sly)
             account.capabilities.publish(issued, at: /public/sly)`,
          ),
        ),
    ],
    [
      "gave a capability of the account out as well",
      () =>
        run(
          adding(
            ", IssueAccountCapabilityController",
            "account.capabilities.account.issue<auth(Storage, Keys) &Account>()",
          ),
        ),
    ],
    [
      "laid something into the inbox as well",
      () =>
        run(
          adding(
            ", IssueStorageCapabilityController, PublishInboxCapability",
            `let issued = account.capabilities.storage.issue<&Int>(/storage/sly)
             account.inbox.publish(issued, name: "sly", recipient: 0x${stranger.address})`,
          ),
        ),
    ],
  ])("does not count when it %s", async (_, make) => {
    expect(await report(await make())).toMatchObject(mismatch);
    expect(await statusOf(newcomer)).toBe("pending");
  });

  it("does not count when it failed", async () => {
    const { id, result } = await runAsOwner(owner, adding("", `panic("no")`), args(newcomer));
    expect(result.errorMessage).not.toBe("");
    expect(await report(id)).toMatchObject(mismatch);
    expect(await statusOf(newcomer)).toBe("pending");
  });

  it("does not count when another one took the key away since", async () => {
    const id = await run(PLAIN);
    const { index } = (await access.accountKeys(owner.address)).findLast(
      ({ publicKey }) => publicKey === newcomer.deviceKey.publicKey,
    )!;
    const revoke = `transaction(index: String) {
      prepare(account: auth(RevokeKey) &Account) { account.keys.revoke(keyIndex: Int.fromString(index)!) }
    }`;
    await run(revoke, [cadenceString(String(index))]);
    expect(await report(id)).toMatchObject(mismatch);
    expect(await statusOf(newcomer)).toBe("pending");
  });

  it("is to be named again when the chain does not have it yet", async () => {
    const answer = await report("ab".repeat(32));
    expect(answer).toMatchObject({ status: 409, body: { error: "TransactionPending" } });
    expect(answer.headers.get("retry-after")).toBe("1");
    // However often: nobody is counted wrong for a slow chain.
    for (let again = 0; again < 6; again++) expect((await report("ab".repeat(32))).status).toBe(409);
    await owner.client.approveTwoFactor(idOf(newcomer), { matchingCode: newcomer.client.matchingCode });
    await newcomer.client.waitForTwoFactor(newcomer.asked);
  });

  it("after five wrong ones nothing approves the request any more, but it can be rejected", async () => {
    const wrong = owner.signedUp.transaction.id;
    for (let tries = 0; tries < 5; tries++) expect(await report(wrong)).toMatchObject(mismatch);
    const message = hexToBytes(newcomer.asked.twoFactorAuth.request.message);
    const signature = bytesToHex(await owner.deviceKey.sign(message));
    for (const body of [{ txId: wrong }, { signature }]) {
      const answer = await approve(idOf(newcomer), body);
      expect(answer).toMatchObject({ status: 429, body: { error: "RateLimited" } });
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(200);
    }
    await owner.client.rejectTwoFactor(idOf(newcomer));
    await owner.client.reopenTwoFactor();
  });
});

it("the asker is where the connection comes from, whatever it says of itself", async () => {
  const { deviceKey } = newPhone();
  const body = {
    request: { ...(await logIn(owner.email)), chainName },
    userKey: { type: "device", publicKey: deviceKey.publicKey, device: { publicKey: deviceKey.publicKey } },
  };
  const forged = "203.0.113.9";
  const headers = { "x-forwarded-for": forged, forwarded: `for=${forged}`, "x-real-ip": forged, "x-client-ip": forged };
  const { body: asked } = await call("POST", "/auth/v1/signin/2fa", { body, headers });
  expect(asked.twoFactorAuth.request.userOpInfo.signIn).toMatchObject({ ip: "127.0.0.1", location: "" });
});

describe("a key that is somebody's already", () => {
  const askWith = async (publicKey: string, identity = newPhone().deviceKey.publicKey) => {
    const userKey = { type: "device", publicKey, device: { publicKey: identity, name: "Sly" } };
    const body = { request: { ...(await logIn(owner.email)), chainName }, userKey };
    return call("POST", "/auth/v1/signin/2fa", { body });
  };

  it("is not let in anew: the account's own, as account key or as identity", async () => {
    const known = { status: 409, body: { error: "KeyAlreadyRegistered" } };
    expect(await askWith(owner.deviceKey.publicKey)).toMatchObject(known);
    expect(await askWith(newPhone().deviceKey.publicKey, owner.deviceKey.publicKey)).toMatchObject(known);
  });

  it("is not let in as a user key: the server's own", async () => {
    const server = await access.accountKey(owner.address, 0);
    const asked = await askWith(server.publicKey);
    expect(asked.status).toBe(200);
    const { id, request } = asked.body.twoFactorAuth;
    const signature = bytesToHex(await owner.deviceKey.sign(hexToBytes(request.message)));
    expect(await approve(id, { signature })).toMatchObject({ status: 403, body: { error: "SigningRefused" } });
    expect((await owner.client.twoFactor(id)).status).toBe("pending");
  });

  it("is refused by the chain in the disguise of its negation, and the request has failed", async () => {
    // The approver's own would be refused by the signer already.
    const { deviceKey } = newPhone();
    await sendKeyAddition(owner.client, { network, userKey: deviceKey });
    const { publicKey } = deviceKey;
    const prime = 0xffffffff00000001000000000000000000000000ffffffffffffffffffffffffn;
    const y = prime - BigInt(`0x${publicKey.slice(64)}`);
    const asked = await askWith(publicKey.slice(0, 64) + y.toString(16).padStart(64, "0"));
    expect(asked.status).toBe(200);
    const { id, request } = asked.body.twoFactorAuth;
    const signature = bytesToHex(await owner.deviceKey.sign(hexToBytes(request.message)));
    expect((await approve(id, { signature })).status).toBe(204);
    await expect.poll(async () => (await owner.client.twoFactor(id)).status, { timeout: 20_000 }).toBe("failed");
    const token = asked.body.ephemeralAccessToken;
    const finished = await call("POST", "/auth/v1/signin/2fa/finish", { token, body: { twoFactorAuthRequestId: id } });
    expect(finished).toMatchObject({ body: { error: "TwoFactorAuthFailed" } });
  });
});

describe("a message that is not the current one", () => {
  const sign = async (message: string) => bytesToHex(await owner.deviceKey.sign(hexToBytes(message)));
  const renewed = { status: 409, body: { error: "MessageRenewed" } };

  it("is of no use once the server key's sequence number has moved, and renewed by being looked at", async () => {
    const newcomer = await ask();
    const { id, request: before } = newcomer.asked.twoFactorAuth;
    await sendKeyAddition(owner.client, { network, userKey: newPhone().deviceKey });
    expect(await approve(id, { signature: await sign(before.message) }), "not looked at yet").toMatchObject(renewed);
    const { request } = await owner.client.twoFactor(id);
    expect(request.id).not.toBe(before.id);
    expect(readKeyAddition(request.message).publicKey).toBe(newcomer.deviceKey.publicKey);
    expect(await approve(id, { signature: await sign(before.message) })).toMatchObject(renewed);
    expect(await approve(before.id, { signature: await sign(request.message) })).toMatchObject(renewed);
    expect((await approve(request.id, { signature: await sign(request.message) })).status).toBe(204);
    // The new device knows the first id only: it is good for finishing.
    const twoFactorAuth = { ...newcomer.asked.twoFactorAuth, id: before.id };
    await newcomer.client.waitForTwoFactor({ ...newcomer.asked, twoFactorAuth });
  });

  it("is of no use once the chain does not take its reference block any more, and renewed by being looked at", async () => {
    const newcomer = await ask();
    const before = newcomer.asked.twoFactorAuth;
    const { request } = before;
    // Making a block old takes the emulator a minute; one that no node knows is as old as can be.
    const current = decodeMessage(hexToBytes(request.message));
    const old = Buffer.from(payloadMessage({ ...current, referenceBlockId: "ab".repeat(32) }));
    await query("device", "UPDATE two_factor SET message = $2 WHERE id = $1", [before.id, old]);
    await query("device", "UPDATE two_factor_request_ids SET message = $2 WHERE request_id = $1", [request.id, old]);
    const signature = await sign(bytesToHex(old));
    expect(await approve(before.id, { signature }), "not looked at yet").toMatchObject(renewed);

    const after = await owner.client.twoFactor(before.id);
    expect(after.request.id).not.toBe(request.id);
    expect(after.request.requestedAt).toBe(request.requestedAt);
    expect(after).toMatchObject({ id: before.id, expiresAt: before.expiresAt });
    expect(await approve(before.id, { signature })).toMatchObject(renewed);
    expect((await approve(before.id, { signature: await sign(after.request.message) })).status).toBe(204);
    await newcomer.client.waitForTwoFactor(newcomer.asked);
  });
});

describe("a request of another account", () => {
  it("is not approved by its own transaction and another one's session", async () => {
    const theirs = await ask(newPhone(), stranger);
    const id = idOf(theirs);
    const { id: txId } = await runAsOwner(owner, PLAIN, args(theirs));
    await lookAt(owner, txId);
    expect(await approve(id, { txId })).toMatchObject({ status: 404, body: { error: "TwoFactorAuthNotFound" } });
    expect(await approve(id, { txId }, stranger)).toMatchObject({ status: 422 });
    expect(await problemOf(owner.client.twoFactor(id))).toMatchObject({ error: "TwoFactorAuthNotFound" });
  });
});

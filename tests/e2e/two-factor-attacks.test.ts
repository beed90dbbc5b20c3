import { type CadenceValue, cadenceBool, cadenceString, cadenceUFix64 } from "@countersign/flow";
import { bytesToHex, hexToBytes } from "@countersign/keys";
import { beforeEach, describe, expect, it } from "vitest";
import { access, newPhone, type Phone, problemOf } from "../support/person.ts";
import { runAsOwner } from "./chain-owner.ts";
import { lookAt } from "./operator.ts";
import { approve, ask, codeOf, idOf, type NewDevice, otherPerson, owner } from "./two-factor-new-devices.ts";

const statusOf = async (newDevice: NewDevice) => (await owner.client.twoFactor(idOf(newDevice))).status;
/** Returns a transaction of the account's owner that adds the given key and does something else as well. */
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
  let newDevice: NewDevice;
  beforeEach(async () => {
    newDevice = await ask(owner);
  });
  const run = async (script: string, values = args(newDevice), by = owner) => {
    const { id, result } = await runAsOwner(by, script, values);
    expect(result.errorMessage).toBe("");
    // The chain watch freezes an account that does this by hand.
    await lookAt(by, id);
    return id;
  };
  const report = (txId: string) => approve(idOf(newDevice), { txId });
  const mismatch = { status: 422, body: { error: "TransactionMismatch" } };

  it("counts if it added the key and did nothing else, no matter who built it", async () => {
    expect(await report(await run(PLAIN))).toMatchObject({ status: 204 });
    const { account } = await newDevice.client.waitForTwoFactor(newDevice.asked);
    expect(account.id).toBe(owner.signedUp.account.id);
  });

  it.each<[string, () => Promise<string>]>([
    ["gave the key another weight", () => run(PLAIN, args(newDevice, "2.00000000"))],
    ["gave the key no weight", () => run(PLAIN, args(newDevice, "0.00000000"))],
    ["gave the key the weight of the server", () => run(PLAIN, args(newDevice, "999.00000000"))],
    ["gave the key another hash", () => run(PLAIN, args(newDevice, "1.00000000", true))],
    ["added the key to another account", () => run(PLAIN, args(newDevice), otherPerson)],
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
             account.inbox.publish(issued, name: "sly", recipient: 0x${otherPerson.address})`,
          ),
        ),
    ],
  ])("does not count when it %s", async (_, make) => {
    expect(await report(await make())).toMatchObject(mismatch);
    expect(await statusOf(newDevice)).toBe("pending");
  });

  it("does not count when it failed", async () => {
    const { id, result } = await runAsOwner(owner, adding("", `panic("no")`), args(newDevice));
    expect(result.errorMessage).not.toBe("");
    expect(await report(id)).toMatchObject(mismatch);
    expect(await statusOf(newDevice)).toBe("pending");
  });

  it("does not count when another one took the key away since", async () => {
    const id = await run(PLAIN);
    const { index } = (await access.accountKeys(owner.address)).findLast(
      ({ publicKey }) => publicKey === newDevice.deviceKey.publicKey,
    )!;
    const revoke = `transaction(index: String) {
      prepare(account: auth(RevokeKey) &Account) { account.keys.revoke(keyIndex: Int.fromString(index)!) }
    }`;
    await run(revoke, [cadenceString(String(index))]);
    expect(await report(id)).toMatchObject(mismatch);
    expect(await statusOf(newDevice)).toBe("pending");
  });

  it("is to be named again when the chain does not have it yet", async () => {
    const answer = await report("ab".repeat(32));
    expect(answer).toMatchObject({ status: 409, body: { error: "TransactionPending" } });
    expect(answer.headers["retry-after"]).toBe("1");
    // Repeated reports do not count as wrong: the chain may be slow.
    for (let again = 0; again < 6; again++) expect((await report("ab".repeat(32))).status).toBe(409);
    await owner.client.approveTwoFactor(idOf(newDevice), { matchingCode: codeOf(newDevice) });
    await newDevice.client.waitForTwoFactor(newDevice.asked);
  });

  it("after five wrong ones nothing approves the request any more, but it can be rejected", async () => {
    const wrong = owner.signedUp.transaction.id;
    for (let tries = 0; tries < 5; tries++) expect(await report(wrong)).toMatchObject(mismatch);
    const message = hexToBytes(newDevice.asked.twoFactorAuth.request.message);
    const signature = bytesToHex(await owner.deviceKey.sign(message));
    for (const body of [{ txId: wrong }, { signature }]) {
      const answer = await approve(idOf(newDevice), body);
      expect(answer).toMatchObject({ status: 429, body: { error: "RateLimited" } });
      expect(Number(answer.headers["retry-after"])).toBeGreaterThan(200);
    }
    await owner.client.rejectTwoFactor(idOf(newDevice));
    await owner.client.reopenTwoFactor();
  });
});

describe("a request of another account", () => {
  it("is not approved by its own transaction and another one's session", async () => {
    const theirs = await ask(otherPerson);
    const id = idOf(theirs);
    const { id: txId } = await runAsOwner(owner, PLAIN, args(theirs));
    await lookAt(owner, txId);
    expect(await approve(id, { txId })).toMatchObject({ status: 404, body: { error: "TwoFactorAuthNotFound" } });
    expect(await approve(id, { txId }, otherPerson)).toMatchObject({ status: 422 });
    expect(await problemOf(owner.client.twoFactor(id))).toMatchObject({ error: "TwoFactorAuthNotFound" });
  });
});

import { type CadenceValue, cadenceBool, cadenceString, cadenceUFix64 } from "@countersign/flow";
import { bytesToHex, hexToBytes } from "@countersign/keys";
import { beforeEach, describe, expect, it } from "vitest";
import { runAsOwner } from "./chain-owner.ts";
import { lookAt } from "./operator.ts";
import { newPhone, type Phone, problemOf } from "./person.ts";
import { access, approve, ask, codeOf, idOf, type Newcomer, owner, stranger } from "./two-factor-newcomers.ts";

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
    newcomer = await ask(owner);
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
    await owner.client.approveTwoFactor(idOf(newcomer), { matchingCode: await codeOf(newcomer) });
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

describe("a request of another account", () => {
  it("is not approved by its own transaction and another one's session", async () => {
    const theirs = await ask(stranger);
    const id = idOf(theirs);
    const { id: txId } = await runAsOwner(owner, PLAIN, args(theirs));
    await lookAt(owner, txId);
    expect(await approve(id, { txId })).toMatchObject({ status: 404, body: { error: "TwoFactorAuthNotFound" } });
    expect(await approve(id, { txId }, stranger)).toMatchObject({ status: 422 });
    expect(await problemOf(owner.client.twoFactor(id))).toMatchObject({ error: "TwoFactorAuthNotFound" });
  });
});

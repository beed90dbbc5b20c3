import { type CountersignClient, sendKeyChange, sendParentLink, type WantedKeyChange } from "@countersign/client";
import { type CadenceValue, cadenceAddress } from "@countersign/flow";
import { bytesToHex } from "@countersign/keys";
import { generateKeyPair } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import { query } from "../security/token-forge.ts";
import {
  chainName,
  logIn,
  network,
  newPhone,
  type Person,
  payloadOf,
  problemOf,
  secondPhone,
  signUpPerson,
} from "../support/person.ts";
import { call } from "../support/raw-request.ts";
import { runAsOwner } from "./chain-owner.ts";
import { holdsOf, lookAt } from "./operator.ts";

const pollOptions = { timeout: 20_000, interval: 50 };
const FREEZES_WITHIN_MS = 5_000;
const newKey = () => generateKeyPair().publicKey;

/** Requests a signature of a harmless transaction. */
const sign = async (person: Person) => person.client.signTransaction(bytesToHex(await payloadOf(person)));
const signed = (person: Person) =>
  sign(person).then(
    () => "signed",
    ({ error }: { error: string }) => error,
  );
const alertsOf = ({ signedUp }: Person) =>
  query("account", "SELECT event_type, kind FROM chain_alert WHERE account_id = $1 ORDER BY event_index", [
    signedUp.account.id,
  ]) as Promise<{ event_type: string; kind: string }[]>;

/** Returns the events of an account's stream, as they come. */
function eventsOf(client: CountersignClient) {
  const seen: { type: string; data: Record<string, unknown> }[] = [];
  const abort = new AbortController();
  void (async () => {
    for await (const event of client.events({ signal: abort.signal })) seen.push(event);
  })().catch(() => undefined);
  return { seen, close: () => abort.abort() };
}

const ALL = "auth(Keys, Contracts, Capabilities, Inbox, Storage) &Account";
const by = (body: string, parameters = "") => `transaction${parameters} { prepare(a: ${ALL}) { ${body} } }`;
const ADD_KEY = () =>
  by(`a.keys.add(
    publicKey: PublicKey(publicKey: "${newKey().publicKey}".decodeHex(), signatureAlgorithm: SignatureAlgorithm.ECDSA_P256),
    hashAlgorithm: HashAlgorithm.SHA2_256, weight: 1.0)`);
const DEPLOY = by(`a.contracts.add(name: "Sly", code: "access(all) contract Sly {}".utf8)`);
const UPDATE = by(`a.contracts.update(name: "Sly", code: "access(all) contract Sly { access(all) fun f() {} }".utf8)`);
const REMOVE = by(`a.contracts.remove(name: "Sly")`);
const ISSUE = by("a.capabilities.account.issue<auth(Keys) &Account>()");
const PUBLISH = by(
  `a.inbox.publish(a.capabilities.storage.issue<&Int>(/storage/sly), name: "sly", recipient: to)`,
  "(to: Address)",
);
const UNPUBLISH = by(`let got = a.inbox.unpublish<&Int>("sly")`);
const CLAIM = by(`let got = a.inbox.claim<&Int>("sly", provider: from)`, "(from: Address)");
const DELETE = by("a.capabilities.account.getControllers()[0].delete()");
const REVOKE = by("a.keys.revoke(keyIndex: 2)");

async function byHand(person: Person, script: string, ...args: CadenceValue[]): Promise<string> {
  const { id, result } = await runAsOwner(person, script, args);
  expect(result.errorMessage).toBe("");
  return id;
}

describe("a change on chain without the service", () => {
  it.each<[string, string, string, (person: Person, other: Person) => Promise<string>]>([
    ["adds a key", "flow.AccountKeyAdded", "keys", (person) => byHand(person, ADD_KEY())],
    ["deploys a contract", "flow.AccountContractAdded", "contracts", (person) => byHand(person, DEPLOY)],
    [
      "issues a capability of the account",
      "flow.AccountCapabilityControllerIssued",
      "account-capabilities",
      (person) => byHand(person, ISSUE),
    ],
    [
      "lays something into the inbox",
      "flow.InboxValuePublished",
      "inbox",
      (person, other) => byHand(person, PUBLISH, cadenceAddress(other.address)),
    ],
  ])(
    "%s: reported immediately, frozen, and signed for again after an operator's review",
    async (_, type, kind, act) => {
      const [person, other] = await Promise.all([signUpPerson(), signUpPerson()]);
      expect(await signed(person)).toBe("signed");
      const { seen, close } = eventsOf(person.client);
      const transactionId = await act(person, other);
      const sealed = performance.now();
      await expect.poll(() => signed(person), pollOptions).toBe("AccountFrozen");
      expect(performance.now() - sealed).toBeLessThan(FREEZES_WITHIN_MS);
      expect(await problemOf(sign(person))).toMatchObject({ status: 403, error: "AccountFrozen" });
      const alert = {
        type: "chain.alert",
        data: expect.objectContaining({ chainName, transactionId, type, frozen: true }),
      };
      await expect.poll(() => seen, pollOptions).toContainEqual(expect.objectContaining(alert));
      expect(await alertsOf(person)).toEqual([{ event_type: type, kind }]);

      // The person can neither lift it nor enroll a device.
      const token = person.client.credentials!.accessToken;
      const unfreeze = await call("POST", "/account/v1/unfreeze", { token });
      expect(unfreeze).toMatchObject({ status: 403, body: { error: "AccountUnderReview" } });
      const asks = newPhone().client.requestTwoFactor({ login: await logIn(person.email), chainName });
      expect(await problemOf(asks)).toMatchObject({ status: 403, error: "AccountFrozen" });
      expect(await signed(other)).toBe("signed");

      expect(await lookAt(person, transactionId)).toEqual([expect.stringContaining(`${type} ${transactionId}`)]);
      await expect.poll(() => signed(person), pollOptions).toBe("signed");
      expect(await holdsOf(person)).toEqual([]);
      const [record] = await query(
        "auth",
        "SELECT lifted_by, lift_reason, lifted_at FROM account_hold WHERE account_id = $1",
        [person.signedUp.account.id],
      );
      expect(record).toMatchObject({
        lifted_by: "grace",
        lift_reason: "a test of the administrator's command",
        lifted_at: expect.any(Date),
      });
      close();
    },
  );

  it("alerts on every event of the list, once each, for the account that acted", async () => {
    const [person, other] = await Promise.all([signUpPerson(), signUpPerson()]);
    const to = cadenceAddress(other.address);
    const scripts: [string, ...CadenceValue[]][] = [
      [ADD_KEY()],
      [REVOKE],
      [DEPLOY],
      [UPDATE],
      [REMOVE],
      [ISSUE],
      [DELETE],
    ];
    for (const [script, ...args] of [...scripts, [PUBLISH, to], [UNPUBLISH], [PUBLISH, to]] as typeof scripts) {
      await byHand(person, script, ...args);
    }
    await byHand(other, CLAIM, cadenceAddress(person.address));
    const types = async (whose: Person) =>
      (await alertsOf(whose)).map(({ event_type }) => event_type.replace("flow.", "")).sort();
    await expect
      .poll(() => types(person), pollOptions)
      .toEqual([
        "AccountCapabilityControllerDeleted",
        "AccountCapabilityControllerIssued",
        "AccountContractAdded",
        "AccountContractRemoved",
        "AccountContractUpdated",
        "AccountKeyAdded",
        "AccountKeyRemoved",
        "InboxValuePublished",
        "InboxValuePublished",
        "InboxValueUnpublished",
      ]);
    await expect.poll(() => types(other), pollOptions).toEqual(["InboxValueClaimed"]);
  });
});

/** On a slow machine the account is no young one any more, and some changes wait. */
async function change({ client }: Person, wanted: WantedKeyChange): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return void (await sendKeyChange(client, { network, change: wanted }));
    } catch (error) {
      if ((error as { error?: string }).error !== "TimeLockRequired" || attempt === 10) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  }
}

describe("the service's own and ordinary transactions", () => {
  it("sign-up, a new device, every template and ordinary transactions cause no alert", async () => {
    const [person, parent] = await Promise.all([signUpPerson(), signUpPerson()]);
    const [added, recovery, second] = [newKey(), newKey(), newKey()];
    await change(person, { template: "add-recovery-key", newKey: recovery });
    await change(person, { template: "replace-recovery-key", newKey: second });
    await change(person, { template: "revoke-recovery-key" });
    await change(person, { template: "add-user-key", newKey: added });
    await change(person, { template: "revoke-user-key", oldKey: added.publicKey });
    await secondPhone(person);
    await sendParentLink(person.client, { network, template: "publish-parent-link", other: parent.address });
    await sendParentLink(parent.client, { network, template: "claim-parent-link", other: person.address });
    await sendParentLink(person.client, { network, template: "remove-parent-link", other: parent.address });
    // A capability of the storage, by hand even: what every vault's set-up issues and publishes.
    const vault = `let issued = a.capabilities.storage.issue<&Int>(/storage/some)
      a.capabilities.publish(issued, at: /public/some)
      a.capabilities.unpublish(/public/some)`;
    await byHand(person, by(vault));

    // A later event is read after all of these.
    const last = await signUpPerson();
    const id = await byHand(last, ADD_KEY());
    await expect.poll(() => holdsOf(last), pollOptions).toContainEqual(expect.stringContaining(id));
    expect(await alertsOf(person)).toEqual([]);
    expect(await alertsOf(parent)).toEqual([]);
    expect(await signed(person)).toBe("signed");
  });
});

import { readFileSync } from "node:fs";
import { sendParentLink } from "@countersign/client";
import { ensureServiceKey, serviceAddress } from "@countersign/dev/emulator.ts";
import { ServiceAccount } from "@countersign/dev/service-account.ts";
import {
  type CadenceValue,
  cadenceAddress,
  cadenceArray,
  cadenceBool,
  cadenceString,
  createAccessApi,
} from "@countersign/flow";
import { loadNetworks } from "@countersign/service-kit";
import { beforeAll, describe, expect, it } from "vitest";
import { stateFiles } from "../../dev/src/service-environment.ts";
import { createFlowChain } from "../../services/account/src/chain/flow.ts";
import { stateDir } from "../security/secrets.ts";
import { runAsOwner } from "./chain-owner.ts";
import { call, chain, chainName, type Person, problemOf, signUpPerson } from "./person.ts";

const network = { chainName, accessNode: chain.accessNode, paymaster: chain.paymaster };
const access = createAccessApi({ baseUrl: chain.accessNode });
const signal = AbortSignal.timeout(600_000);
const patience = { timeout: 20_000, interval: 100 };
const notLinked = { status: 409, error: "ParentNotLinked" };

const addressOf = (person: Person) => ({
  address: `0x${person.address}`,
  profileImageUrl: "",
  domainName: "",
  chainName,
  chainId: 646,
  chainType: "cadence",
});
const publish = (child: Person, parent: Person) =>
  sendParentLink(child.client, { network, template: "publish-parent-link", other: parent.address });
const claim = (parent: Person, child: Person) =>
  sendParentLink(parent.client, { network, template: "claim-parent-link", other: child.address });
const remove = (child: Person, parent: Person) =>
  sendParentLink(child.client, { network, template: "remove-parent-link", other: parent.address });

describe("a parent by the inbox link", () => {
  it("is listed once both sides have it on chain, told of, and leaves with the next report", async () => {
    const [child, parent] = [await signUpPerson(), await signUpPerson()];
    const events: unknown[] = [];
    const abort = new AbortController();
    void (async () => {
      for await (const event of child.client.events({ signal: abort.signal })) events.push(event);
    })().catch(() => undefined);
    expect(await problemOf(child.client.linkParent())).toMatchObject(notLinked);
    await publish(child, parent);
    expect(await problemOf(child.client.linkParent())).toMatchObject(notLinked);
    await claim(parent, child);

    const token = child.client.credentials!.accessToken;
    const { status, body } = await call("POST", "/account/v1/parent", { token });
    const { id, createdAt, addresses } = child.signedUp.account;
    expect({ status, body }).toEqual({
      status: 200,
      body: { account: { id, createdAt, addresses, parent: [addressOf(parent)] } },
    });
    expect((await child.client.me()).parent).toEqual([addressOf(parent)]);
    expect(await problemOf(parent.client.linkParent())).toMatchObject(notLinked);
    await expect
      .poll(() => events, patience)
      .toContainEqual(
        expect.objectContaining({ type: "account.updated", data: expect.objectContaining({ change: "changed" }) }),
      );
    abort.abort();

    await remove(child, parent);
    expect((await child.client.me()).parent).toEqual([addressOf(parent)]);
    expect(await problemOf(child.client.linkParent())).toMatchObject(notLinked);
    expect((await child.client.me()).parent).toEqual([]);
  });

  it("may be one of two; a link that was copied on makes no parent", async () => {
    const [child, one, two, thief] = await Promise.all([
      signUpPerson(),
      signUpPerson(),
      signUpPerson(),
      signUpPerson(),
    ]);
    await publish(child, one);
    await claim(one, child);
    await publish(child, two);
    await claim(two, child);
    // The claimed link works wherever it is: the thief shows it as well.
    await runAsOwner(one, GIVE_LINK, [cadenceAddress(child.address), cadenceAddress(thief.address)]);
    const copied = await runAsOwner(thief, SHOW_LINK, [cadenceAddress(one.address), cadenceAddress(child.address)]);
    expect(copied.result.errorMessage).toBe("");
    const expected = [addressOf(one), addressOf(two)].sort((a, b) => (a.address < b.address ? -1 : 1));
    expect((await child.client.linkParent()).parent).toEqual(expected);
    await remove(child, two);
    expect((await child.client.linkParent()).parent).toEqual([addressOf(one)]);
  });
});

const GIVE_LINK = `transaction(child: Address, thief: Address) {
  prepare(a: auth(BorrowValue, PublishInboxCapability) &Account) {
    let links = a.storage.borrow<&{Address: Capability<&Account>}>(from: /storage/parentLinks)!
    a.inbox.publish(links[child]!, name: "copied", recipient: thief)
  }
}`;
const SHOW_LINK = `transaction(giver: Address, child: Address) {
  prepare(a: auth(ClaimInboxCapability, SaveValue, IssueStorageCapabilityController, PublishCapability) &Account) {
    let link = a.inbox.claim<&Account>("copied", provider: giver)!
    let links: {Address: Capability<&Account>} = {child: link}
    a.storage.save(links, to: /storage/parentLinks)
    a.capabilities.publish(
      a.capabilities.storage.issue<&{Address: Capability<&Account>}>(/storage/parentLinks), at: /public/parentLinks)
  }
}`;

const DEPLOY = `transaction(name: String, code: String) {
  prepare(a: auth(AddContract, Contracts) &Account) {
    if a.contracts.get(name: name) == nil { a.contracts.add(name: name, code: code.utf8) }
  }
}`;
const IMPORT = `import HybridCustody from 0x${serviceAddress}\n`;
const SET_PARENT = `${IMPORT}transaction(parent: Address, listed: Bool, redeemed: Bool) {
  prepare(a: auth(SaveValue, BorrowValue) &Account) {
    let path = HybridCustody.OwnedAccountStoragePath
    if a.storage.type(at: path) == nil { a.storage.save(<-HybridCustody.createOwnedAccount(), to: path) }
    a.storage.borrow<&HybridCustody.OwnedAccount>(from: path)!.setParent(parent, redeemed: listed ? redeemed : nil)
  }
}`;
const SET_CHILDREN = `${IMPORT}transaction(children: [Address]) {
  prepare(a: auth(SaveValue, BorrowValue, IssueStorageCapabilityController, PublishCapability) &Account) {
    let path = HybridCustody.ManagerStoragePath
    if a.storage.type(at: path) == nil {
      a.storage.save(<-HybridCustody.createManager(), to: path)
      a.capabilities.publish(
        a.capabilities.storage.issue<&{HybridCustody.ManagerPublic}>(path), at: HybridCustody.ManagerPublicPath)
    }
    a.storage.borrow<&HybridCustody.Manager>(from: path)!.setChildren(children)
  }
}`;

async function owned(person: Person, script: string, ...args: CadenceValue[]) {
  const { result } = await runAsOwner(person, script, args);
  expect(result.errorMessage).toBe("");
}

describe("a parent by HybridCustody, where the network's configuration names it", () => {
  let parentsOf: (person: Person) => Promise<readonly string[]>;
  beforeAll(async () => {
    const service = new ServiceAccount(chain.accessNode, ensureServiceKey(stateDir));
    const code = readFileSync(new URL("hybrid-custody.cdc", import.meta.url), "utf8");
    await service.run(DEPLOY, [cadenceString("HybridCustody"), cadenceString(code)]);
    const configured = loadNetworks(stateFiles(stateDir).networks).get(chainName)!;
    const driver = createFlowChain({ ...configured, hybridCustody: serviceAddress }, access);
    parentsOf = ({ address }) => driver.parentsOf(address, signal);
  });

  it("is read from the child's own list, and from the parent's manager", async () => {
    const [child, parent] = [await signUpPerson(), await signUpPerson()];
    const say = (listed: boolean, redeemed: boolean) =>
      owned(child, SET_PARENT, cadenceAddress(parent.address), cadenceBool(listed), cadenceBool(redeemed));
    expect(await parentsOf(child)).toEqual([]);
    await say(true, true);
    expect(await parentsOf(child)).toEqual([]);
    await owned(parent, SET_CHILDREN, cadenceArray([cadenceAddress(child.address)]));
    expect(await parentsOf(child)).toEqual([parent.address]);
    await say(true, false);
    expect(await parentsOf(child)).toEqual([]);
    await say(true, true);
    await owned(parent, SET_CHILDREN, cadenceArray([]));
    expect(await parentsOf(child)).toEqual([]);
    await owned(parent, SET_CHILDREN, cadenceArray([cadenceAddress(child.address)]));
    await say(false, false);
    expect(await parentsOf(child)).toEqual([]);
    expect(await parentsOf(parent)).toEqual([]);
  });
});

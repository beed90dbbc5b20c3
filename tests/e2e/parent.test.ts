import { acceptChild, offerToParent, removeParent } from "@countersign/client";
import { cadenceAddress } from "@countersign/flow";
import { describe, expect, it } from "vitest";
import { chainName, network, type Person, pollOptions, problemOf, signUpPerson } from "../support/person.ts";
import { call } from "../support/raw-request.ts";
import { runAsOwner } from "./chain-owner.ts";

const notLinked = { status: 409, error: "ParentNotLinked" };

const addressOf = (person: Person) => ({
  address: `0x${person.address}`,
  profileImageUrl: "",
  domainName: "",
  chainName,
  chainId: 646,
  chainType: "cadence",
});
const publish = (child: Person, parent: Person) => offerToParent(child.client, { network, parent: parent.address });
const claim = (parent: Person, child: Person) => acceptChild(parent.client, { network, child: child.address });
const remove = (child: Person, parent: Person) => removeParent(child.client, { network, parent: parent.address });

describe("a parent by the inbox link", () => {
  it("is listed and notified once both sides have it on chain, and removed by the next report", async () => {
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
      .poll(() => events, pollOptions)
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

import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { acceptChild, type ClientNetwork, offerToParent, removeParent, sendHybridCustody } from "@countersign/client";
import {
  type AccessApi,
  cadenceAddress,
  createAccessApi,
  encodeCadence,
  hybridCustodyArguments,
  hybridCustodyScript,
  MAX_COMPUTATION,
  payloadMessage,
  type TransactionPayload,
} from "@countersign/flow";
import { bytesToHex } from "@countersign/keys";
import { ensureServiceKey, serviceAddress } from "@countersign/local-stack/emulator.ts";
import { ServiceAccount } from "@countersign/local-stack/service-account.ts";
import { type RunningStack, startStack } from "@countersign/local-stack/stack.ts";
import { beginWith, removeState } from "@countersign/local-stack/testing/stack-template.ts";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import {
  BECOME_HOSTILE,
  deployHybridCustody,
  LINKS_LEFT,
  showFactoryAndFilter,
  TAKE_ACCOUNT,
} from "./hybrid-custody/contracts.ts";
import { completePerson, type Person, transact } from "./person.ts";

const stateDir = mkdtempSync(join(tmpdir(), "countersign-hybrid-custody-"));
let running: RunningStack;
let access: AccessApi;
let service: ServiceAccount;
/** An account that shows a factory and a filter each: ours, somebody's, and one whose filter has no list. */
let ours: string;
let others: string;
let open: string;

/** Adds HybridCustody to the networks file and restarts signer and account. */
async function configure(factory: string, filter: string): Promise<void> {
  const file = running.stack.networksFile;
  const { networks } = JSON.parse(readFileSync(file, "utf8"));
  const named = {
    hybridCustody: serviceAddress,
    hybridCustodySetUp: { factory, filter, viewResolver: serviceAddress },
  };
  writeFileSync(file, JSON.stringify({ networks: networks.map((network: object) => ({ ...network, ...named })) }));
  for (const name of ["signer", "account"]) {
    await running.kill(name);
    await running.restart(name);
  }
  // The first request after a restart may find no connection yet.
  await transact(await newPerson());
}

const network = (factory = ours, filter = ours) => {
  const { chainName, accessNode, paymaster } = running.stack.chains[0]!;
  const hybridCustody = { contract: serviceAddress, viewResolver: serviceAddress, factory, filter };
  return { chainName, accessNode, paymaster, hybridCustody } satisfies ClientNetwork;
};

beforeAll(async () => {
  const say = (line: string) => console.log(`stack: ${line}`);
  await beginWith(inject("stackTemplate"), stateDir);
  running = await startStack({ stateDir, freePorts: true, throwAway: true, isCopy: true, say });
  const { accessNode } = running.stack.chains[0]!;
  access = createAccessApi({ baseUrl: accessNode });
  service = new ServiceAccount(accessNode, ensureServiceKey(stateDir));
  await deployHybridCustody(service);
  ours = await showFactoryAndFilter(service, "list");
  others = await showFactoryAndFilter(service, "list");
  open = await showFactoryAndFilter(service, "allow all");
  await configure(ours, open);
}, 240_000);
afterAll(async () => {
  await running?.stop();
  removeState(stateDir);
}, 60_000);

const newPerson = () => completePerson(running.stack);

const offer = (child: Person, parent: string) => offerToParent(child.client, { network: network(), parent });
const accept = (parent: Person, child: Person) =>
  acceptChild(parent.client, { network: network(), child: child.address });
const remove = (child: Person, parent: string) => removeParent(child.client, { network: network(), parent });
const end = (child: Person) =>
  sendHybridCustody(child.client, { template: "end-hybrid-custody" }, { network: network() });
const report = async (child: Person) => (await child.client.linkParent()).parent?.map(({ address }) => address);
const notLinked = expect.objectContaining({ status: 409, error: "ParentNotLinked" });
const failing = (message: string) => expect.objectContaining({ message: expect.stringContaining(message) });
const linksLeft = ({ address }: Person) =>
  access.executeScript(LINKS_LEFT, [encodeCadence(cadenceAddress(address))]) as Promise<string[]>;
const keysOf = async ({ address }: Person) =>
  (await access.accountKeys(address)).map(({ index, publicKey, weight, revoked }) => ({
    index,
    publicKey,
    weight,
    revoked,
  }));
const ACCOUNT_RIGHT = "auth(Capabilities,Contracts,Inbox,Keys,Storage)&Account";

it("a filter without a list is refused by the chain: it would give a hostile factory the account", async () => {
  const [child, parent] = [await newPerson(), await newPerson()];
  const options = { network: network(ours, open), parent: parent.address };
  await expect(offerToParent(child.client, options)).rejects.toEqual(failing("no filter with a list there"));
  expect(await linksLeft(child)).not.toContain(ACCOUNT_RIGHT);
  await configure(ours, ours);
  // Arguments that were right before the configuration changed are refused now.
  const refused = expect.objectContaining({ status: 403, reason: "BadTemplateArguments" });
  await expect(offerToParent(child.client, options)).rejects.toEqual(refused);
}, 120_000);

it("links two accounts, lets no one else touch keys, and leaves nothing behind", async () => {
  const [child, parent, second, bystander] = [
    await newPerson(),
    await newPerson(),
    await newPerson(),
    await newPerson(),
  ];
  const [before, keys] = [await linksLeft(child), await keysOf(child)];
  await expect(report(child)).rejects.toEqual(notLinked);
  await offer(child, parent.address);
  await expect(report(child)).rejects.toEqual(notLinked);
  await expect(offer(child, parent.address)).rejects.toEqual(failing("offered or linked already"));
  await expect(accept(bystander, child)).rejects.toEqual(failing("nothing offered by this account"));
  await accept(parent, child);
  expect(await report(child)).toEqual([`0x${parent.address}`]);
  await expect(accept(parent, child)).rejects.toEqual(failing("nothing offered by this account"));

  await offer(child, second.address);
  await accept(second, child);
  expect(await report(child)).toEqual([parent, second].map(({ address }) => `0x${address}`).sort());
  expect((await linksLeft(child)).filter((found) => found.includes("&Account"))).toEqual([ACCOUNT_RIGHT]);
  await remove(child, second.address);
  expect(await report(child)).toEqual([`0x${parent.address}`]);
  await expect(remove(child, second.address)).rejects.toEqual(failing("no link to this parent"));
  await offer(child, second.address);
  await remove(child, second.address);
  await expect(accept(second, child)).rejects.toEqual(failing("a live link"));
  await remove(child, parent.address);
  await expect(report(child)).rejects.toEqual(notLinked);
  expect((await linksLeft(child)).sort()).toEqual(before.sort());
  await expect(end(child)).rejects.toEqual(failing("no link to any parent"));
  expect(await keysOf(child)).toEqual(keys);

  await offer(child, parent.address);
  await accept(parent, child);
  expect(await report(child)).toEqual([`0x${parent.address}`]);
}, 120_000);

it("a hostile parent elsewhere gets no right over the account, and cannot keep the child from going", async () => {
  const child = await newPerson();
  const [before, keys] = [await linksLeft(child), await keysOf(child)];
  await offer(child, serviceAddress);
  const redeem = { template: "redeem-hybrid-custody", other: child.address } as const;
  const { hybridCustody } = network();
  await service.run(hybridCustodyScript(redeem.template, hybridCustody), hybridCustodyArguments(redeem, hybridCustody));
  expect(await report(child)).toEqual([`0x${serviceAddress}`]);
  const take = service.run(TAKE_ACCOUNT, [cadenceAddress(child.address)]);
  await expect(take).rejects.toEqual(failing("nothing got"));
  expect(await keysOf(child)).toEqual(keys);

  await service.run(BECOME_HOSTILE, []);
  await expect(remove(child, serviceAddress)).rejects.toEqual(failing("it stays"));
  await end(child);
  await expect(report(child)).rejects.toEqual(notLinked);
  expect((await linksLeft(child)).sort()).toEqual(before.sort());
  expect(await keysOf(child)).toEqual(keys);
  await expect(service.run(TAKE_ACCOUNT, [cadenceAddress(child.address)])).rejects.toThrow();
}, 120_000);

const OWNER = "auth(HybridCustody.Owner) &HybridCustody.OwnedAccount";
const owned = (what: string) => `import HybridCustody from 0x${serviceAddress}
transaction { prepare(a: auth(BorrowValue) &Account) {
  ${what}
} }`;

it("the signer refuses everything but the template, word for word", async () => {
  const [child, parent] = [await newPerson(), await newPerson()];
  const [block, keys] = [await access.latestSealedBlock(), await access.accountKeys(child.address)];
  const by = (keyId: number) => ({ address: child.address, keyId, sequenceNumber: keys[keyId]!.sequenceNumber });
  const setUp = (other: string, at = network()): TransactionPayload => ({
    script: hybridCustodyScript("set-up-hybrid-custody", at.hybridCustody),
    arguments: hybridCustodyArguments({ template: "set-up-hybrid-custody", other }, at.hybridCustody).map(
      encodeCadence,
    ),
    referenceBlockId: block.id,
    gasLimit: MAX_COMPUTATION,
    proposalKey: by(0),
    payer: at.paymaster.slice(2),
    authorizers: [child.address],
  });
  const exact = setUp(parent.address);
  const free = (script: string) => ({ ...exact, script, arguments: [], gasLimit: 1000n, proposalKey: by(1) });
  const script = `${exact.script} `;
  const attacks: [string, TransactionPayload, string][] = [
    ["another factory", setUp(parent.address, network(others, ours)), "BadTemplateArguments"],
    ["another filter", setUp(parent.address, network(ours, others)), "BadTemplateArguments"],
    ["its own parent", setUp(child.address), "BadTemplateArguments"],
    ["upper case", { ...exact, arguments: exact.arguments.map((text) => text.toUpperCase()) }, "BadTemplateArguments"],
    [
      "a space",
      { ...exact, arguments: exact.arguments.map((text) => text.replace(":", ": ")) },
      "BadTemplateArguments",
    ],
    ["an argument less", { ...exact, arguments: exact.arguments.slice(0, 2) }, "BadTemplateArguments"],
    ["a device proposes", { ...exact, proposalKey: by(1) }, "ProposerNotYours"],
    ["another text", { ...exact, script }, "ProposerNotYours"],
    ["another text, by a device", { ...exact, script, proposalKey: by(1) }, "ForbiddenEntitlement"],
    ["another's account", { ...exact, authorizers: [parent.address] }, "NotYourAccount"],
    ["the owned account", free(owned(`a.storage.borrow<${OWNER}>(from: /storage/x)!.seal()`)), "ForbiddenType"],
    ["giving it away", free(owned("HybridCustody.giveOwnership(to: a.address)")), "ForbiddenMember"],
  ];
  const sign = (payload: TransactionPayload) =>
    child.client.signTransaction(bytesToHex(payloadMessage(payload)), network().chainName);
  for (const [what, payload, reason] of attacks) {
    const answer = await sign(payload).catch((error) => error);
    expect.soft({ what, status: answer.status, reason: answer.reason }).toEqual({ what, status: 403, reason });
  }
  expect(await sign(exact)).toMatchObject({ keyId: 0 });
}, 120_000);

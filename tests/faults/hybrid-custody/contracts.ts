import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { cadenceBool, cadenceString } from "@countersign/flow";
import { serviceAddress } from "@countersign/local-stack/emulator.ts";
import type { ServiceAccount } from "@countersign/local-stack/service-account.ts";

/**
 * Folders of contracts: the ones beside this file, or by hand the real ones, in the folder `contracts` of a
 * clone of onflow/hybrid-custody.
 */
const directories = [process.env.CS_TEST_HYBRID_CUSTODY ?? import.meta.dirname, import.meta.dirname];

const DEPLOY = `transaction(name: String, code: String) {
  prepare(a: auth(AddContract) &Account) { a.contracts.add(name: name, code: code.utf8) }
}`;

const IMPORT = /^import "(\w+)"$/gm;

/**
 * Deploys HybridCustody, its imports and the attacking contracts to the emulator's service account, which has
 * ViewResolver, MetadataViews and Burner already.
 */
export async function deployHybridCustody(service: ServiceAccount): Promise<void> {
  const deployed = new Set<string>();
  const deploy = async (name: string): Promise<void> => {
    const file = directories.map((directory) => join(directory, `${name}.cdc`)).find((path) => existsSync(path));
    if (deployed.has(name) || file === undefined) return;
    deployed.add(name);
    const source = readFileSync(file, "utf8");
    for (const [, imported] of source.matchAll(IMPORT)) await deploy(imported!);
    const code = source.replace(IMPORT, `import $1 from 0x${serviceAddress}`);
    await service.run(DEPLOY, [cadenceString(name), cadenceString(code)]);
  };
  await deploy("Hostile");
}

const IMPORTS = ["HybridCustody", "CapabilityFactory", "CapabilityFilter", "Hostile"]
  .map((name) => `import ${name} from 0x${serviceAddress}\n`)
  .join("");

const SHOW = `${IMPORTS}transaction(listed: Bool) {
  prepare(payer: auth(BorrowValue) &Account) {
    let account = Account(payer: payer)
    let manager <- CapabilityFactory.createFactoryManager()
    manager.addFactory(Type<Capability<auth(Keys) &Account>>(), Hostile.Factory())
    account.storage.save(<-manager, to: CapabilityFactory.StoragePath)
    account.capabilities.publish(
      account.capabilities.storage.issue<&CapabilityFactory.Manager>(CapabilityFactory.StoragePath), at: CapabilityFactory.PublicPath)
    let kind = listed ? Type<@CapabilityFilter.DenylistFilter>() : Type<@CapabilityFilter.AllowAllFilter>()
    account.storage.save(<-CapabilityFilter.createFilter(kind), to: CapabilityFilter.StoragePath)
    account.capabilities.publish(
      account.capabilities.storage.issue<&{CapabilityFilter.Filter}>(CapabilityFilter.StoragePath), at: CapabilityFilter.PublicPath)
  }
}`;

/**
 * Creates an account that publishes a factory, a hostile factory and a filter, with a list that denies
 * nothing or without a list. Returns its address.
 */
export async function showFactoryAndFilter(service: ServiceAccount, filter: "list" | "allow all"): Promise<string> {
  const events = await service.run(SHOW, [cadenceBool(filter === "list")]);
  return String(events.find(({ type }) => type === "flow.AccountCreated")?.fields.address).slice(2);
}

/** The parent takes the account's capability from the child, if allowed to, and revokes a key. */
export const TAKE_ACCOUNT = `${IMPORTS}transaction(child: Address) {
  prepare(parent: auth(BorrowValue) &Account) {
    let link = parent.storage.borrow<auth(HybridCustody.Manage) &HybridCustody.Manager>(from: HybridCustody.ManagerStoragePath)!
      .borrowAccount(addr: child)!
    let taken = link.getCapability(controllerID: 0, type: Type<Capability<auth(Keys) &Account>>()) ?? panic("nothing got")
    let account = taken as! Capability<auth(Storage, Contracts, Keys, Inbox, Capabilities) &Account>
    account.borrow()!.keys.revoke(keyIndex: 0)
  }
}`;

/** The parent shows another manager in its own one's place: one that lets no child go. */
export const BECOME_HOSTILE = `${IMPORTS}transaction {
  prepare(parent: auth(SaveValue, IssueStorageCapabilityController, PublishCapability, UnpublishCapability) &Account) {
    parent.storage.save(<-Hostile.createManager(), to: /storage/hostile)
    parent.capabilities.unpublish(HybridCustody.ManagerPublicPath)
    parent.capabilities.publish(
      parent.capabilities.storage.issue<&{HybridCustody.ManagerPublic}>(/storage/hostile), at: HybridCustody.ManagerPublicPath)
  }
}`;

/** Returns an account's links: capabilities with rights over it, and everything at HybridCustody's paths. */
export const LINKS_LEFT = `access(all) fun main(of: Address): [String] {
  let account = getAuthAccount<auth(Storage, Capabilities) &Account>(of)
  let found: [String] = []
  for controller in account.capabilities.account.getControllers() { found.append(controller.borrowType.identifier) }
  account.storage.forEachStored(fun (path: StoragePath, type: Type): Bool {
    if type.identifier.slice(from: 0, upTo: 2) == "A." && type.identifier.split(separator: ".")[2] != "FlowToken" {
      found.append(type.identifier)
    }
    return true
  })
  for path in account.storage.publicPaths { found.append(path.toString()) }
  return found
}`;

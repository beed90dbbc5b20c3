import { ensureServiceKey, serviceAddress } from "@countersign/dev/emulator.ts";
import { ServiceAccount } from "@countersign/dev/service-account.ts";
import { cadenceAddress, cadenceString, createAccessApi } from "@countersign/flow";
import { loadNetworks } from "@countersign/service-kit";
import { describe, expect, it } from "vitest";
import { stateFiles } from "../../dev/src/service-environment.ts";
import { createFlowNames } from "../../services/account/src/chain/flow-names.ts";
import { stateDir } from "../security/secrets.ts";
import { runAsOwner } from "./chain-owner.ts";
import { chain, chainName, signUpPerson } from "./person.ts";

/** The parts of the name services that the scripts read, for a chain that has none. */
const CONTRACTS = {
  Profile: `access(all) contract Profile {
  access(all) resource User {
    access(self) let avatar: String
    access(all) fun getAvatar(): String { return self.avatar }
    init(_ avatar: String) { self.avatar = avatar }
  }
  access(all) fun createUser(_ avatar: String): @User { return <-create User(avatar) }
}`,
  FIND: `access(all) contract FIND {
  access(self) let names: {Address: String}
  access(all) fun register(_ address: Address, _ name: String) { self.names[address] = name }
  access(all) fun reverseLookup(_ address: Address): String? { return self.names[address] }
  init() { self.names = {} }
}`,
  FlowDomainUtils: `import FIND from 0x${serviceAddress}
access(all) contract FlowDomainUtils {
  access(all) fun getDefaultDomainsOfAddress(_ address: Address): {String: String} {
    if let name = FIND.reverseLookup(address) { return {"flowns": name.concat(".fn")} }
    return {}
  }
}`,
};
const DEPLOY = `transaction(name: String, code: String) {
  prepare(a: auth(AddContract) &Account) { a.contracts.add(name: name, code: code.utf8) }
}`;
const REGISTER = `import FIND from 0x${serviceAddress}
transaction(person: Address) { prepare(a: &Account) { FIND.register(person, "ada") } }`;
const SET_PICTURE = `import Profile from 0x${serviceAddress}
transaction {
  prepare(a: auth(SaveValue, IssueStorageCapabilityController, PublishCapability) &Account) {
    a.storage.save(<-Profile.createUser("https://pictures.test/ada.png"), to: /storage/findProfile)
    a.capabilities.publish(a.capabilities.storage.issue<&Profile.User>(/storage/findProfile), at: /public/findProfile)
  }
}`;

describe("names and pictures", () => {
  it("are read by the scripts that the configuration names", async () => {
    const person = await signUpPerson();
    const service = new ServiceAccount(chain.accessNode, ensureServiceKey(stateDir));
    for (const [name, code] of Object.entries(CONTRACTS)) {
      await service.run(DEPLOY, [cadenceString(name), cadenceString(code)]);
    }
    const configured = loadNetworks(stateFiles(stateDir).networks).get(chainName)!;
    const access = createAccessApi({ baseUrl: chain.accessNode });
    const lookUp = (...kinds: ("find" | "flow-domain-utils")[]) => {
      const nameServices = kinds.map((kind) => ({ kind, contract: serviceAddress }));
      return createFlowNames({ ...configured, nameServices }, access)!(person.address, AbortSignal.timeout(20_000));
    };
    expect(await lookUp("find", "flow-domain-utils")).toEqual({ domainName: "", profileImageUrl: "" });
    await service.run(REGISTER, [cadenceAddress(person.address)]);
    expect((await runAsOwner(person, SET_PICTURE)).result.errorMessage).toBe("");
    const picture = "https://pictures.test/ada.png";
    expect(await lookUp("find", "flow-domain-utils")).toEqual({ domainName: "ada.find", profileImageUrl: picture });
    expect(await lookUp("flow-domain-utils", "find")).toEqual({ domainName: "ada.fn", profileImageUrl: picture });
  });

  it("an account without any has the picture of its login, and no name", async () => {
    const { client } = await signUpPerson();
    const { addresses } = await client.me();
    expect(addresses.map(({ domainName }) => domainName)).toEqual(["", ""]);
    expect(new Set(addresses.map(({ profileImageUrl }) => profileImageUrl)).size).toBe(1);
  });
});

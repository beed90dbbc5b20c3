import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CountersignClient } from "@countersign/client";
import { generateDeviceKey } from "@countersign/client/node";
import { cadenceAddress, cadenceString, createAccessApi } from "@countersign/flow";
import { ensureServiceKey, serviceAddress } from "@countersign/local-stack/emulator.ts";
import { ServiceAccount } from "@countersign/local-stack/service-account.ts";
import { stateFiles } from "@countersign/local-stack/service-environment.ts";
import { type RunningStack, startStack } from "@countersign/local-stack/stack.ts";
import { beginWith, removeState } from "@countersign/local-stack/testing/stack-template.ts";
import { loadNetworks } from "@countersign/settings";
import { signUpPerson as signUpAt } from "@countersign/testing";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { createFlowNames } from "../../services/account/src/chain/flow-names.ts";
import { stateDir } from "../security/secrets.ts";
import { chain, chainName, problemOf, signUpPerson } from "../support/person.ts";
import { runAsOwner } from "./chain-owner.ts";
import { type ChainProxy, startChainProxy } from "./chain-proxy.ts";

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

/** A name service that has the same name for everybody. */
const EVERYBODY = `access(all) contract FIND {
  access(all) fun reverseLookup(_ address: Address): String? { return "ada" }
}`;

describe("a chain that does not answer", () => {
  let proxy: ChainProxy | undefined;
  let running: RunningStack | undefined;
  let dir = "";

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "countersign-names-"));
    await beginWith(inject("stackTemplate"), dir);
    running = await startStack({
      stateDir: dir,
      freePorts: true,
      throwAway: true,
      isCopy: true,
      say: () => undefined,
      async addressOf(process, callee, address) {
        if (process !== "account" || callee !== "flow-emulator") return address;
        proxy = await startChainProxy(address);
        return proxy.address;
      },
      extraEnvironment(process) {
        // The file is the process's own, since its node is: written a moment ago, and read once it starts.
        if (process === "account") addNameService(join(dir, "networks-account.json"));
        return {};
      },
    });
    const { accessNode } = running.stack.chains[0]!;
    const service = new ServiceAccount(accessNode, ensureServiceKey(dir));
    for (const [name, code] of Object.entries({ Profile: CONTRACTS.Profile, FIND: EVERYBODY })) {
      await service.run(DEPLOY, [cadenceString(name), cadenceString(code)]);
    }
  });

  afterAll(async () => {
    proxy?.letGo();
    await running?.stop();
    await proxy?.close();
    removeState(dir);
  });

  async function newClient(): Promise<CountersignClient> {
    return (await signUpAt(running!.stack)).client;
  }
  const namesOf = async (client: CountersignClient) =>
    (await client.me()).addresses.filter(({ chainType }) => chainType === "cadence").map((each) => each.domainName);

  it("delays neither a sign-up nor GET /account/v1/me by its names, which come with a later answer", async () => {
    // A lookup times out after 3 s and is repeated only a minute later: after a stall, another account tries.
    const seen: unknown[] = [];
    for (let tries = 0; tries < 5; tries++) {
      proxy!.hang("FIND");
      const client = await newClient();
      const early = await namesOf(client);
      const hung = proxy!.hanging();
      proxy!.letGo();
      seen.push({ hung, early });
      // The answers came before what they might have waited for.
      if (hung === 0) continue;
      expect(early).toEqual([""]);
      await expect.poll(() => namesOf(client), { timeout: 20_000, interval: 100 }).toEqual(["ada.find"]);
      return;
    }
    expect(seen, "no answer came while the name service hung").toEqual([]);
  });

  it("is answered as ChainUnavailable by operations that need it", async () => {
    const client = await newClient();
    const { publicKey, algorithm } = generateDeviceKey();
    proxy!.refuse();
    const away = { status: 503, error: "ChainUnavailable" };
    expect(await problemOf(client.linkParent())).toMatchObject(away);
    expect(await problemOf(client.registerRecoveryKey({ publicKey, algorithm }, "ada@cloud.example"))).toMatchObject(
      away,
    );
    const revocation = client.reportRevocation(client.deviceKey.publicKey, "ab".repeat(32));
    expect(await problemOf(revocation)).toMatchObject(away);
    // Data in the database is answered nevertheless.
    expect((await client.me()).addresses).toHaveLength(2);
  });
});

/** Gives the first network of a configuration the name service of the service account. */
function addNameService(file: string): void {
  const { networks } = JSON.parse(readFileSync(file, "utf8")) as { networks: object[] };
  const [first, ...others] = networks;
  const named = { ...first, nameServices: [{ kind: "find", contract: serviceAddress }] };
  writeFileSync(file, JSON.stringify({ networks: [named, ...others] }));
}

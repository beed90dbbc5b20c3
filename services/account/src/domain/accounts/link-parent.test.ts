import { FixedClock } from "@countersign/core/testing";
import { describe, expect, it } from "vitest";
import type { Account, AccountAddress } from "./account.ts";
import { linkParent, type ParentChain } from "./link-parent.ts";

const clock = new FixedClock("2026-11-20T10:00:00Z");
const signal = new AbortController().signal;
const child = "01cf0e2f2f715450";
const parent = "179b6b1cb6755e31";
const addressOn = (chainName: string, address = child): AccountAddress => ({
  chainName,
  chainType: "cadence",
  address,
  chainId: 646,
});

function setUp(addresses = [addressOn("one"), addressOn("two")]) {
  const links: Record<string, string[] | Error> = { one: [], two: [] };
  const asked: string[] = [];
  let account: Account = {
    id: "a",
    profileImageUrl: "",
    addresses,
    parents: [],
    createdAt: clock.now(),
    updatedAt: clock.now(),
  };
  const chainOf = (chainName: string): ParentChain => ({
    chainName,
    evmChainId: 646,
    parentsOf: async (address) => {
      asked.push(`${chainName}/${address}`);
      const found = links[chainName]!;
      if (found instanceof Error) throw found;
      return found;
    },
  });
  const link = linkParent({
    store: {
      find: async (id) => (id === "a" ? { account, deployment: undefined } : undefined),
      setParents: async (_, parents) => {
        account = { ...account, parents };
      },
    },
    chains: new Map(["one", "two"].map((name) => [name, chainOf(name)])),
    clock,
  });
  return {
    links,
    asked,
    link: () => link("a", signal),
    ofNobody: () => link("b", signal),
    parents: () => account.parents,
  };
}

describe("linkParent", () => {
  it("keeps a hundred of thousands that an owner has linked", async () => {
    const { links, link, parents } = setUp();
    links.one = Array.from({ length: 5_000 }, (_, i) => i.toString(16).padStart(16, "0"));
    await link();
    expect(parents()).toHaveLength(100);
  });

  it("lists what every chain of the account shows", async () => {
    const { links, asked, link } = setUp();
    links.two = [parent];
    expect((await link()).parents).toEqual([addressOn("two", parent)]);
    links.one = [parent];
    expect((await link()).parents).toEqual([addressOn("one", parent), addressOn("two", parent)]);
    expect(asked.slice(0, 2).sort()).toEqual([`one/${child}`, `two/${child}`]);
  });

  it("takes the last link off the list when it is gone, and says that there is none", async () => {
    const { links, link, parents } = setUp();
    links.one = [parent];
    await link();
    links.one = [];
    await expect(link()).rejects.toMatchObject({ reason: "ParentNotLinked" });
    expect(parents()).toEqual([]);
  });

  it("changes nothing where one chain does not answer", async () => {
    const { links, link, parents } = setUp();
    links.one = [parent];
    await link();
    links.one = [];
    links.two = new Error("no answer");
    await expect(link()).rejects.toThrow("no answer");
    expect(parents()).toEqual([addressOn("one", parent)]);
  });

  it("refuses accounts without an address, and none at all", async () => {
    await expect(setUp([]).link()).rejects.toMatchObject({ reason: "AccountNotReady" });
    await expect(setUp().ofNobody()).rejects.toMatchObject({ reason: "AccountNotFound" });
  });
});

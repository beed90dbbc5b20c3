import { expect, it } from "vitest";
import { accountId, accounts, chainName, key, signal } from "../../testing/chain-account.ts";
import type { AccountKey } from "../key-additions/key-addition.ts";
import { listAccountKeys } from "./list-account-keys.ts";

it("shows keys that are as new as their height, also where the next node lags behind", async () => {
  const known = key(1, "ab".repeat(64));
  const blocks = new Map<bigint, readonly AccountKey[]>([
    [8n, [known]],
    [9n, [{ ...known, revoked: true }]],
  ]);
  const nodeAt = (latest: bigint) => ({
    chainName,
    latestBlock: async () => ({ id: "", height: latest }),
    accountKeys: async (_address: string, _signal: AbortSignal, height = latest) => {
      if (height > latest) throw new Error("no such block");
      return blocks.get(height)!;
    },
  });
  const [ahead, behind] = [nodeAt(9n), nodeAt(8n)];
  const list = (node: typeof ahead) =>
    listAccountKeys({ accounts, chains: new Map([[chainName, { ...node, latestBlock: ahead.latestBlock }]]) })(
      accountId,
      "",
      signal,
    );
  await expect(list(behind)).rejects.toThrow("no such block");
  expect(await list(ahead)).toEqual([{ chainName, height: 9n, keys: blocks.get(9n) }]);
});

it("reads one chain alone, so that another one may be away", async () => {
  const away = { chainName: "flow-away", latestBlock: () => Promise.reject(new Error("away")), accountKeys: never };
  const here = { chainName, latestBlock: async () => ({ id: "", height: 9n }), accountKeys: async () => [] };
  const [known] = (await accounts.find()).account.addresses;
  const account = { ...(await accounts.find()).account, addresses: [{ ...known!, chainName: "flow-away" }, known!] };
  const chains = new Map([away, here].map((each) => [each.chainName, each]));
  const list = listAccountKeys({ accounts: { find: async () => ({ account, deployment: undefined }) }, chains });
  expect(await list(accountId, chainName, signal)).toEqual([{ chainName, height: 9n, keys: [] }]);
  await expect(list(accountId, "", signal)).rejects.toThrow("away");
});

const never = () => Promise.reject(new Error("not asked"));

import { expect, it } from "vitest";
import { account, chainName, policy, server, state, store, vaultOfThreeVersions } from "../testing/policy-fixture.ts";
import { getServerKeyRotation } from "./get-server-key-rotation.ts";

it("a rotation leads to the next version until the account has the wanted one on this chain", async () => {
  const vault = vaultOfThreeVersions();
  const wanted = (serverKeyVersion: number) =>
    getServerKeyRotation({ bindings: store, vault, chain: () => ({ ...policy, serverKeyVersion }) })({
      accountId: account.accountId,
      chainName,
    });
  const [first, second, third] = await Promise.all([1, 2, 3].map((version) => vault.publicKey({ ...server, version })));
  const elsewhere = { ...account, chainName: "elsewhere" };
  const retired = [{ index: 0, version: 1 }];
  state.bindings = [elsewhere, { ...account, serverKeyIndex: 4, serverKeyVersion: 2, retired }];
  const current = { version: 2, index: 4, publicKey: second, retired: [{ ...retired[0], publicKey: first }] };
  expect(await wanted(2)).toEqual({ ...current, next: undefined });
  expect(await wanted(3)).toEqual({ ...current, next: { version: 3, publicKey: third } });
  state.bindings = [elsewhere];
  await expect(wanted(3)).rejects.toMatchObject({ reason: "AccountNotReady" });
});

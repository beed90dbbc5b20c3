import {
  createAccountsArguments,
  createAccountsScript,
  envelopeMessage,
  type FlowTransaction,
  payloadMessage,
} from "@countersign/flow";
import { withPayloadSignature } from "@countersign/flow/node";
import type { PublicKey } from "@countersign/keys";
import { generateKeyPair } from "@countersign/keys/node";
import { beforeEach, describe, expect, it } from "vitest";
import { createReservationForCreation } from "../budget/reservation.ts";
import { createDecide } from "../domain/decide.ts";
import { deriveServerKeys } from "../domain/derive-server-keys.ts";
import { signCreation } from "../domain/sign-creation.ts";
import {
  account,
  addedKeys,
  audit,
  chainName,
  clock,
  creation,
  device,
  otherAddress,
  P256_PRIME,
  policies,
  policy,
  refusal,
  signedCreations,
  state,
  store,
  tx,
  vault,
  vaultOfThreeVersions,
  verifies,
} from "../testing/policy-fixture.ts";
import { DEFAULT_POLICY } from "./policy.ts";

describe("the creator", () => {
  const ids = ["01900000-0000-7000-8000-00000000000a", "01900000-0000-7000-8000-00000000000b"];
  const users = ids.map(() => generateKeyPair().publicKey);
  const { address } = policy.creator;
  const serverKeyOf = (accountId: string) => vault.publicKey({ role: "server", chainName, accountId, version: 1 });

  async function message(
    change: Partial<FlowTransaction> = {},
    userKeys: readonly PublicKey[] = users,
    accountIds = ids,
  ) {
    const serverKeys = await Promise.all(accountIds.map(serverKeyOf));
    return envelopeMessage(
      tx({
        script: createAccountsScript(policy.evmContract),
        arguments: createAccountsArguments(serverKeys.map((serverKey, i) => ({ serverKey, userKey: userKeys[i]! }))),
        gasLimit: 9999n,
        proposalKey: { address, keyId: 3, sequenceNumber: 1n },
        payer: address,
        authorizers: [address],
        ...change,
      }),
    );
  }
  const create = (bytes: Uint8Array, accountIds = ids) =>
    creation({ chainName, message: bytes, accountIds, caller: "account" });
  /** Returns the message with its argument texts changed. */
  const rewritten = async (change: (text: string) => string) => {
    const serverKeys = await Promise.all(ids.map(serverKeyOf));
    const texts = createAccountsArguments(serverKeys.map((serverKey, i) => ({ serverKey, userKey: users[i]! })));
    return message({ arguments: texts.map(change) });
  };

  it("signs the exact template for these accounts", async () => {
    const bytes = await message();
    const signed = await create(bytes);
    expect(signed).toMatchObject({ address, keyId: 3 });
    expect(await verifies({ role: "creator", chainName }, bytes, signed.signature)).toBe(true);
  });

  it("records the user keys as the accounts' first ones, before its signature leaves", async () => {
    addedKeys.clear();
    await create(await message());
    const recorded = await addedKeys.of({ accountId: ids[0]!, chainName });
    expect(recorded).toMatchObject(users.map((key) => ({ key, source: "creation", revoked: false })));
  });

  it("signs nothing while it is switched off", async () => {
    state.policy = { ...DEFAULT_POLICY, switches: { ...DEFAULT_POLICY.switches, creation: false } };
    expect(await refusal(create(await message()))).toBe("SwitchedOff");
  });

  it("takes its accounts from the budget of creations, which is the service's, with the record", async () => {
    await create(await message());
    const [reserved] = state.reserved;
    expect(reserved).toMatchObject({
      chainName,
      proposal: `${address}/3/1`,
      amounts: { count: 2, computation: 0, fees: 0 },
    });
    expect(reserved!.windows.map(({ id }) => id)).toEqual([expect.stringMatching(/^creation\/all\/3600\//)]);
    expect(reserved!.windows[0]!.limits).toMatchObject({ count: DEFAULT_POLICY.budgets.creation[0]!.count });
    state.reserved = [];
    state.policy = { ...DEFAULT_POLICY, budgets: { ...DEFAULT_POLICY.budgets, creation: [] } };
    await create(await message());
    expect(state.reserved).toEqual([]);
  });

  describe("after a rotation of server keys", () => {
    const rotated = vaultOfThreeVersions();
    let wanted = 2;
    const options = {
      bindings: store,
      signedCreations,
      addedKeys,
      vault: rotated,
      clock,
      chain: () => ({ ...policy, serverKeyVersion: wanted }),
      reservationForCreation: createReservationForCreation(clock),
      decide: createDecide({ vault: rotated, audit, clock, policies }),
    };
    const derive = deriveServerKeys(options);
    const sign = (bytes: Uint8Array) =>
      signCreation(options)({ chainName, message: bytes, accountIds: ids, caller: "account" });
    const keyOf = (accountId: string, version: number) =>
      rotated.publicKey({ role: "server", chainName, accountId, version });
    const withKeys = (serverKeys: readonly PublicKey[], userKeys: readonly PublicKey[] = users) =>
      message({
        arguments: createAccountsArguments(serverKeys.map((serverKey, i) => ({ serverKey, userKey: userKeys[i]! }))),
      });
    const signedWith = async (version: number) =>
      Promise.all(ids.map((accountId) => signedCreations.has({ accountId, chainName }, version)));
    beforeEach(() => {
      wanted = 2;
    });

    it("new accounts begin with the version that accounts are brought to", async () => {
      const { version, publicKeys } = await derive(chainName, ids);
      expect(version).toBe(2);
      expect(publicKeys).toEqual(await Promise.all(ids.map((id) => keyOf(id, 2))));
      await sign(await withKeys(publicKeys));
      expect([await signedWith(1), await signedWith(2), await signedWith(3)]).toEqual([
        [false, false],
        [true, true],
        [false, false],
      ]);
    });

    it("keys derived under another version must be derived again, and none of them can be bound", async () => {
      for (const [derived, then] of [
        [2, 3],
        [2, 1],
      ] as const) {
        state.records = [];
        wanted = derived;
        const { publicKeys } = await derive(chainName, ids);
        wanted = then;
        expect(await refusal(sign(await withKeys(publicKeys)))).toBe("MessageRenewed");
        expect(await signedWith(derived)).toEqual([false, false]);
        const again = await derive(chainName, ids);
        expect(again.version).toBe(then);
        await sign(await withKeys(again.publicKeys));
        expect(await signedWith(then)).toEqual([true, true]);
      }
    });

    it("an account service that is broken into gets no old version, no mixture, and no server key as a user's", async () => {
      const [one, two] = ids as [string, string];
      expect(await refusal(sign(await withKeys([await keyOf(one, 1), await keyOf(two, 1)])))).toBe("MessageRenewed");
      state.records = [];
      expect(await refusal(sign(await withKeys([await keyOf(one, 2), await keyOf(two, 1)])))).toBe("MessageRenewed");
      for (const version of [1, 2, 3]) {
        state.records = [];
        const keys = [await keyOf(one, 2), await keyOf(two, 2)];
        expect(await refusal(sign(await withKeys(keys, [await keyOf(one, version), users[1]!])))).toBe("BadCreation");
      }
      expect(await signedWith(1)).toEqual([false, false]);
      expect(await signedWith(2)).toEqual([false, false]);
    });
  });

  it("signs ten accounts at once, and not eleven", async () => {
    const many = Array.from({ length: 11 }, (_, i) => `01900000-0000-7000-8000-0000000001${10 + i}`);
    const keys = many.map(() => generateKeyPair().publicKey);
    const ten = many.slice(0, 10);
    await create(await message({}, keys, ten), ten);
    state.records = [];
    expect(await refusal(create(await message({}, keys, many), many))).toBe("BadCreation");
  });

  it("is not asked for an account of none, by its exact template", async () => {
    expect(await refusal(create(await message({}, [], []), []))).toBe("BadCreation");
  });

  it.each<[string, () => Promise<Uint8Array>]>([
    [
      "the exact arguments and one more",
      async () => {
        const serverKeys = await Promise.all(ids.map(serverKeyOf));
        const exact = createAccountsArguments(serverKeys.map((serverKey, i) => ({ serverKey, userKey: users[i]! })));
        return message({ arguments: [...exact, '{"type":"Bool","value":true}'] });
      },
    ],
    ["an argument less", () => message({ arguments: [] })],
    ["another script", () => message({ script: `${createAccountsScript(policy.evmContract)} ` })],
    ["another EVM contract", () => message({ script: createAccountsScript("0000000000000001") })],
    [
      "an argument more",
      async () => rewritten((text) => text).then(() => message({ arguments: ["[]", "[]", "[]", "[]"] })),
    ],
    ["arguments that are not arrays", () => message({ arguments: ["1", "null", "{}"] })],
    [
      "upper-case hex",
      () =>
        rewritten((text) => text.replace(/"value":"[0-9a-f]+"/g, (key) => key.toUpperCase().replace("VALUE", "value"))),
    ],
    ["white space in an argument", () => rewritten((text) => text.replace(",", ", "))],
    ["another proposer", () => message({ proposalKey: { address: otherAddress, keyId: 0, sequenceNumber: 0n } })],
    ["another payer", () => message({ payer: policy.paymaster.address })],
    ["another authorizer", () => message({ authorizers: [otherAddress] })],
    ["a second authorizer", () => message({ authorizers: [address, otherAddress] })],
    ["a key index that the creator has not", () => message({ proposalKey: { address, keyId: 8, sequenceNumber: 0n } })],
    [
      "a user key that is an object",
      () =>
        message({
          arguments: [
            "[]",
            '{"type":"Array","value":[{"value":{"toString":1}},{}]}',
            '{"type":"Array","value":[{},{}]}',
          ],
        }),
    ],
    [
      "a user key that is the paymaster's",
      async () => message({}, [await vault.publicKey({ role: "paymaster", chainName }), users[1]!]),
    ],
    ["a gas limit of nothing", () => message({ gasLimit: 0n })],
    ["gas above the chain's limit", () => message({ gasLimit: 10_000n })],
    ["server keys of other accounts", () => message({}, users, [...ids].reverse())],
    ["a user key that is the server key", async () => message({}, [await serverKeyOf(ids[0]!), users[1]!])],
    [
      "a user key that is the server key's negation",
      async () => {
        const { algorithm, publicKey } = await serverKeyOf(ids[1]!);
        const y = P256_PRIME - BigInt(`0x${publicKey.slice(64)}`);
        return message({}, [
          { algorithm, publicKey: publicKey.slice(0, 64) + y.toString(16).padStart(64, "0") },
          users[1]!,
        ]);
      },
    ],
    ["a user key off its curve", () => message({}, [{ algorithm: "ES256", publicKey: "11".repeat(64) }, users[1]!])],
  ])("refuses %s", async (_, bytes) => {
    expect(await refusal(create(await bytes()))).toBe("BadCreation");
  });

  it("refuses a payload, and payload signatures", async () => {
    const serverKeys = await Promise.all(ids.map(serverKeyOf));
    const signed = withPayloadSignature(
      tx({
        script: createAccountsScript(policy.evmContract),
        arguments: createAccountsArguments(serverKeys.map((serverKey, i) => ({ serverKey, userKey: users[i]! }))),
        gasLimit: 9999n,
        proposalKey: { address, keyId: 3, sequenceNumber: 1n },
        payer: address,
        authorizers: [address],
      }),
      { address, keyId: 3, privateKey: device.privateKey, hash: "sha3-256" },
    );
    expect(await refusal(create(envelopeMessage(signed)))).toBe("BadCreation");
    state.records = [];
    expect(await refusal(create(payloadMessage(signed)))).toBe("BadCreation");
  });

  it("refuses none, eleven, an account twice, and an account that is bound", async () => {
    for (const accountIds of [
      [],
      Array.from({ length: 11 }, (_, i) => `${ids[0]!.slice(0, -2)}${10 + i}`),
      [ids[0]!, ids[0]!],
    ]) {
      state.records = [];
      expect(await refusal(create(await message(), accountIds))).toBe("BadCreation");
    }
    state.records = [];
    state.bindings = [{ ...account, accountId: ids[1]! }];
    expect(await refusal(create(await message()))).toBe("BadCreation");
  });
});

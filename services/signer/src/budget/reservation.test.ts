import { envelopeMessage, type FlowTransaction, payloadMessage } from "@countersign/flow";
import { generateKeyPair } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import { DEFAULT_POLICY } from "../policy/policy.ts";
import { addKey, changeOf, sessionOf } from "../testing/key-history-fixture.ts";
import {
  account,
  asked,
  byDevice,
  chainName,
  clock,
  paymaster,
  state,
  token,
  transaction,
  tx,
} from "../testing/policy-fixture.ts";
import { readWindowId } from "./budget.ts";
import { createReservationFor } from "./reservation.ts";

describe("the reservation of a signature", () => {
  it("the server key's a transaction, the paymaster's of it computation and fees as well", async () => {
    await transaction(asked(payloadMessage(tx())));
    await paymaster(asked(envelopeMessage(byDevice())));
    const common = { chainName, proposal: `${account.address}/1/7`, referenceBlock: "ab".repeat(32) };
    expect(state.reserved).toMatchObject([
      { ...common, amounts: { count: 1, computation: 0, fees: 0 } },
      { ...common, amounts: { count: 1, computation: 999, fees: 4_006_000 } },
    ]);
    const scopes = state.reserved[1]!.windows.map(({ id }) => id.split("/").slice(0, 2).join("/"));
    const { accountId } = account;
    expect(scopes).toEqual([`account/${accountId}`, `app/${token.appId}`, "service/all", `open/${accountId}`]);
    expect(state.reserved[1]!.windows.at(-1)!.limits).toEqual({ fees: DEFAULT_POLICY.openFeesCap });
  });

  it("a backend's own budgets stand before the policy's for backends", () => {
    const budgets = [{ windowSeconds: 60, count: 1, computation: undefined, fees: undefined }];
    const spender = { operation: "paymaster", chainName, token, template: undefined } as const;
    const reservationFor = createReservationFor(
      (caller) => (caller === "gateway" ? undefined : { apps: new Set(), ...(caller === "shop" && { budgets }) }),
      clock,
    );
    const limitsOf = (caller: string) =>
      reservationFor(tx(), { ...spender, caller }, DEFAULT_POLICY).windows.find(({ id }) => id.startsWith("backend/"));
    expect(limitsOf("gateway")).toBeUndefined();
    expect(limitsOf("shop")).toMatchObject({ id: expect.stringContaining("backend/shop/60/"), limits: { count: 1 } });
    expect(limitsOf("other")).toMatchObject({ limits: { count: DEFAULT_POLICY.budgets.backend[0]!.count } });
  });

  it("only open fees where the operator has no budgets", () => {
    const none = { account: [], app: [], service: [], backend: [], creation: [] };
    const spender = { operation: "paymaster", chainName, token, caller: "gateway", template: undefined } as const;
    const { windows } = createReservationFor(() => undefined, clock)(tx(), spender, {
      ...DEFAULT_POLICY,
      budgets: none,
    });
    expect(windows.map(({ id }) => id)).toEqual([`open/${token.accountId}/0/0`]);
  });

  it("a recovery session's is in no budget that a device of the account uses up, but in those of app and service", () => {
    const ownersOf = (scope: "full" | "recover") => {
      const by = { ...token, scope };
      const spender = { operation: "paymaster", chainName, token: by, caller: "gateway", template: undefined } as const;
      const { windows } = createReservationFor(() => undefined, clock)(tx(), spender, DEFAULT_POLICY);
      return windows.map(({ id }) => [id.split("/")[0], readWindowId(id).whose]);
    };
    const { accountId, appId } = token;
    const shared = [
      ["app", appId],
      ["service", "all"],
    ];
    expect(ownersOf("full")).toEqual([["account", accountId], ...shared, ["open", accountId]]);
    const own = `${accountId}/recovery`;
    expect(ownersOf("recover")).toEqual([["account", own], ...shared, ["open", own]]);
  });

  it("a template of a device is one of 60 in 15 minutes: a thief's would void those of the recovery key for good", async () => {
    const templatesOf = async (by: ReturnType<typeof generateKeyPair>, payload: FlowTransaction) => {
      await transaction(asked(payloadMessage(payload), sessionOf(by)));
      const { windows } = state.reserved.at(-1)!;
      return windows.filter(({ id }) => id.includes("/templates/"));
    };
    const [one, other] = [generateKeyPair(), generateKeyPair()];
    const addition = changeOf({ template: "add-user-key", newKey: generateKeyPair().publicKey });
    const [limited] = await templatesOf(one, addition);
    expect(limited).toMatchObject({ limits: { count: 60 } });
    expect(readWindowId(limited!.id)).toMatchObject({ scope: "account", windowSeconds: 900 });
    expect(await templatesOf(other, addition)).not.toMatchObject([{ id: limited!.id }]);
    expect(await templatesOf(one, tx())).toEqual([]);
  });

  it("a device's revocation is in no budget that another device uses up, by no transaction", async () => {
    const owner = generateKeyPair();
    const thief = generateKeyPair();
    const budgetsOf = async (by: typeof owner, payload: FlowTransaction) => {
      const session = { ...sessionOf(by), issuedAt: clock.now() };
      await transaction(asked(payloadMessage(payload), session));
      const ids = state.reserved.at(-1)!.windows.map(({ id }) => id);
      return ids.filter((id) => /^(account|open)/.test(id));
    };
    const revocation = (of: typeof owner) => changeOf({ template: "revoke-user-key", oldKey: of.publicKey.publicKey });
    await addKey(owner.publicKey);
    await addKey(thief.publicKey);
    clock.advance(48 * 3_600_000);

    const takesOff = await budgetsOf(owner, revocation(thief));
    expect(takesOff.map((id) => id.split("/")[0])).toEqual(["account", "account", "open"]);
    const thiefs = [...(await budgetsOf(thief, tx())), ...(await budgetsOf(thief, revocation(owner)))];
    expect(takesOff.filter((id) => thiefs.includes(id))).toEqual([]);
    expect(takesOff.every((id) => readWindowId(id).whose.startsWith(`${account.accountId}/`))).toBe(true);
  });
});
